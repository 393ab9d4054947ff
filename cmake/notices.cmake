# What a wheel says of the code of others that is linked into it: their licences, and a bill of
# materials (CycloneDX) in the folder that PEP 770 names for it.

get_filename_component(nanobind_folder "${nanobind_DIR}/.." REALPATH)
file(GLOB nanobind_licence "${nanobind_folder}/../nanobind-*.dist-info/licenses/LICENSE")
set(robin_map_header "${nanobind_folder}/ext/robin_map/include/tsl/robin_growth_policy.h")
if(NOT nanobind_licence OR NOT EXISTS "${robin_map_header}")
  message(WARNING "The licences of nanobind and robin-map were not found; the wheel lacks them.")
  return()
endif()

file(READ "${robin_map_header}" header)
string(FIND "${header}" "*/" end)  # of the licence, the comment at the top
string(SUBSTRING "${header}" 0 ${end} robin_map_licence)
set(robin_map_version)
foreach(part MAJOR MINOR PATCH)
  string(REGEX MATCH "TSL_RH_VERSION_${part} ([0-9]+)" _ "${header}")
  list(APPEND robin_map_version ${CMAKE_MATCH_1})
endforeach()
list(JOIN robin_map_version . robin_map_version)

set(notices "${CMAKE_CURRENT_BINARY_DIR}/notices")
file(WRITE "${notices}/robin-map.txt" "${robin_map_licence}")
configure_file("${nanobind_licence}" "${notices}/nanobind.txt" COPYONLY)
configure_file(cmake/treerank.cdx.json.in "${notices}/treerank.cdx.json")
install(FILES "${notices}/nanobind.txt" "${notices}/robin-map.txt"
        DESTINATION "${SKBUILD_METADATA_DIR}/licenses")
install(FILES "${notices}/treerank.cdx.json" DESTINATION "${SKBUILD_METADATA_DIR}/sboms")
