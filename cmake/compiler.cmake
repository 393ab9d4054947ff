# Turns C++ on, and says at once what is wrong with the compiler, if anything, and what to do.

set(treerank_minimum_GNU 11)
set(treerank_minimum_Clang 13)
set(treerank_minimum_AppleClang 15)
set(treerank_wheel_hint
    "A wheel needs no compiler:\n  pip install --only-binary treerank-ml treerank-ml")
set(treerank_compiler_hint
    "treerank is built with GCC ${treerank_minimum_GNU}, Clang ${treerank_minimum_Clang} (clang-cl \
on Windows), Apple Clang ${treerank_minimum_AppleClang}, or a later one. The environment variable \
CXX names the compiler to use.")

if(NOT CMAKE_CXX_COMPILER)
  include(CheckLanguage)
  check_language(CXX)
  set(found ${CMAKE_CXX_COMPILER})
  # It lacks the options that CXX may have, and once missing it would stay so.
  unset(CMAKE_CXX_COMPILER)
  unset(CMAKE_CXX_COMPILER CACHE)
  if(NOT found)
    message(FATAL_ERROR
      "No C++ compiler was found.\n${treerank_wheel_hint}\n${treerank_compiler_hint}")
  endif()
endif()
enable_language(CXX)

# The kernels are written with the vector extensions of GCC and Clang.
if(CMAKE_CXX_COMPILER_ID STREQUAL "MSVC")
  message(FATAL_ERROR
    "Got the compiler of Visual Studio (cl); expected clang-cl, which its installer has as \"C++ \
Clang tools for Windows\". Choose it with CMAKE_ARGS=\"-T ClangCL\", or with CMAKE_GENERATOR=Ninja \
and CXX=clang-cl.\n${treerank_wheel_hint}")
endif()
set(minimum "${treerank_minimum_${CMAKE_CXX_COMPILER_ID}}")
if(minimum AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS minimum)
  message(FATAL_ERROR
    "Got ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}; expected ${minimum} or later.\n\
${treerank_wheel_hint}\n${treerank_compiler_hint}")
endif()
