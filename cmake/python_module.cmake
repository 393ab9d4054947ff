# The module treerank._core: the bindings, with the core and nanobind linked into it.

find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
find_package(nanobind CONFIG QUIET)
if(NOT nanobind_FOUND)
  execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
                  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT)
  find_package(nanobind CONFIG REQUIRED)
endif()

# One wheel serves Python 3.12 and all later versions (STABLE_ABI). Without the GIL
# (FREE_THREADED) calls may run at the same time: the module has no state that changes after it
# was loaded, and the core works on what it was given.
file(GLOB bindings_sources CONFIGURE_DEPENDS src/bindings/*.cpp)
# nanobind never changes, so that its sources may as well be compiled as one: a third of the time.
set(CMAKE_UNITY_BUILD ${TREERANK_PRECOMPILE})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)
nanobind_add_module(_core NB_STATIC STABLE_ABI FREE_THREADED NB_SUPPRESS_WARNINGS
                    ${bindings_sources})
# The bindings in two parts, so that another processor has something to do.
set_target_properties(_core PROPERTIES UNITY_BUILD_BATCH_SIZE 7)
target_link_libraries(_core PRIVATE treerank_core)
if(TREERANK_PRECOMPILE)
  target_precompile_headers(_core PRIVATE src/bindings/arrays.hpp)
endif()
install(TARGETS _core LIBRARY DESTINATION treerank)

# The same bindings over the other core.
if(TREERANK_SANITIZE)
  nanobind_add_module(_core_sanitized NB_STATIC STABLE_ABI FREE_THREADED NB_SUPPRESS_WARNINGS
                      NOSTRIP $<TARGET_OBJECTS:_core>)
  target_link_libraries(_core_sanitized PRIVATE sanitized_core)
  set_target_properties(_core_sanitized PROPERTIES OUTPUT_NAME _core EXCLUDE_FROM_ALL ON
                        LIBRARY_OUTPUT_DIRECTORY "${sanitized_folder}")
  add_dependencies(sanitized _core_sanitized)
endif()
if(SKBUILD_METADATA_DIR)
  include(cmake/notices.cmake)
endif()
