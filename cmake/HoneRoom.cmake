# hone_room(NAME [USES room...] [TEST_USES room...] [LINKS target...]
#           [SHELF type function_prefix] [SHELF_HEADER header] [HOT file...]
#           [SANITIZE] [COLD])
#
# Declares the room src/NAME. Its sources are the .cc files beside this CMakeLists.txt:
#   x.cc -> library hone_<name with _>      x_test.cc -> one test program per room
#   x_slow_test.cc -> a second test program, which `make quick` and the sanitizers leave out
#   x_bench.cc -> one Google Benchmark program per room
#   x_fuzz.cc  -> one fuzz target per file (libFuzzer under HONE_FUZZ, corpus replay otherwise)
# USES lists the rooms it may include; hone_room refuses one that src/LAYERS puts later.
# TEST_USES lists the rooms that its tests, fuzzers and benches may include besides.
# SHELF makes the file name the registration: for each x.cc in the folder the function
# <prefix>_x() is declared and called by the generated <room>_all.gen.cc, which defines
# `std::vector<type> all_<prefix>();`. A file without its function is a link error.
# A helper of the shelf has a header: x.h makes x.cc and x_more.cc helpers, which define no such
# function.
# SANITIZE: the room reads bytes from outside or places memory; .ci/run has its tests and fuzz
# corpora under the address sanitizer (label sanitize). make nightly has all rooms.
# COLD: nothing in it runs for long; compiled with -O1, which takes a fifth less time.
# HOT: files of loops over numbers, compiled each alone with -O3 and without contraction, so that
# they give the same bits on every processor.

file(STRINGS ${CMAKE_SOURCE_DIR}/src/LAYERS HONE_LAYERS REGEX "^[^#]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/LAYERS)
set(HONE_FUZZERS ${CMAKE_BINARY_DIR}/fuzzers.txt)
file(WRITE ${HONE_FUZZERS} "")

# Files of a room are compiled a few together, some 16 kB of text each time, in half of the time that
# they take one by one. So names in anonymous namespaces are unique in a room (tools/check_layers.py
# looks), and HONE_UNITY=OFF, as make nightly has the address sanitizer built, finds a file that lacks
# an include.
option(HONE_UNITY "compile files of a room together" ON)
set(HONE_UNITY_BYTES 16000)
function(hone_unity TARGET)
  set(GROUP 0)
  set(BYTES 0)
  foreach(F ${ARGN})
    file(SIZE ${F} SIZE)
    math(EXPR BYTES "${BYTES} + ${SIZE}")
    if(BYTES GREATER HONE_UNITY_BYTES AND NOT BYTES EQUAL SIZE)
      math(EXPR GROUP "${GROUP} + 1")
      set(BYTES ${SIZE})
    endif()
    set_source_files_properties(${F} PROPERTIES UNITY_GROUP ${GROUP})
  endforeach()
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

function(hone_room NAME)
  cmake_parse_arguments(R "SANITIZE;COLD" "SHELF_HEADER" "USES;TEST_USES;LINKS;SHELF;HOT" ${ARGN})
  string(REPLACE "/" "_" ID ${NAME})
  list(FIND HONE_LAYERS ${NAME} SELF)
  if(SELF EQUAL -1)
    message(FATAL_ERROR "room ${NAME} is missing from src/LAYERS")
  endif()
  set(DIR ${CMAKE_SOURCE_DIR}/src/${NAME})
  file(GLOB ALL CONFIGURE_DEPENDS ${DIR}/*.cc)
  set(SOURCES)
  set(TESTS)
  set(SLOW_TESTS)
  set(FUZZERS)
  set(BENCHES)
  foreach(F ${ALL})
    if(F MATCHES "_slow_test\\.cc$")
      list(APPEND SLOW_TESTS ${F})
    elseif(F MATCHES "_test\\.cc$")
      list(APPEND TESTS ${F})
    elseif(F MATCHES "_fuzz\\.cc$")
      list(APPEND FUZZERS ${F})
    elseif(F MATCHES "_bench\\.cc$")
      list(APPEND BENCHES ${F})
    else()
      list(APPEND SOURCES ${F})
    endif()
  endforeach()

  if(R_SHELF)
    list(GET R_SHELF 0 TYPE)
    list(GET R_SHELF 1 PREFIX)
    set(DECLS "")
    set(CALLS "")
    foreach(F ${SOURCES})
      get_filename_component(STEM ${F} NAME_WE)
      set(HELPER ${STEM})  # x.h makes x.cc and x_more.cc helpers
      while(HELPER AND NOT EXISTS ${DIR}/${HELPER}.h)
        if(NOT HELPER MATCHES "_")
          set(HELPER "")
        else()
          string(REGEX REPLACE "_[^_]*$" "" HELPER ${HELPER})
        endif()
      endwhile()
      if(NOT HELPER)
        string(APPEND DECLS "${TYPE} ${PREFIX}_${STEM}();\n")
        string(APPEND CALLS "  shelf.push_back(${PREFIX}_${STEM}());\n")
      endif()
    endforeach()
    set(GEN ${CMAKE_BINARY_DIR}/gen/${ID}_all.gen.cc)
    file(CONFIGURE OUTPUT ${GEN} CONTENT
"// Generated from the files of src/${NAME}. Do not edit.
#include \"${R_SHELF_HEADER}\"
#include <vector>
namespace hone {
${DECLS}std::vector<${TYPE}> all_${PREFIX}() {
  std::vector<${TYPE}> shelf;
${CALLS}  return shelf;
}
}  // namespace hone
")
    list(APPEND SOURCES ${GEN})
  endif()

  if(NOT SOURCES)
    list(APPEND SOURCES ${CMAKE_SOURCE_DIR}/cmake/empty.cc)
  endif()
  add_library(hone_${ID} STATIC ${SOURCES})
  target_include_directories(hone_${ID} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  if(HONE_UNITY)
    hone_unity(hone_${ID} ${SOURCES})
  endif()
  target_compile_options(hone_${ID} PRIVATE $<$<AND:$<BOOL:${R_COLD}>,$<CONFIG:Release>>:-O1>)
  target_link_libraries(hone_${ID} PUBLIC hone_flags ${R_LINKS})
  if("engine/session" IN_LIST R_USES)
    target_precompile_headers(hone_${ID} REUSE_FROM hone_pch_high)
  elseif(NAME MATCHES "^learn/tokenizers/")
    target_precompile_headers(hone_${ID} REUSE_FROM hone_pch_tokenizers)
  elseif(NAME MATCHES "^learn/")
    target_precompile_headers(hone_${ID} REUSE_FROM hone_pch_learn)
  else()
    target_precompile_headers(hone_${ID} REUSE_FROM hone_pch)
  endif()
  list(TRANSFORM R_HOT PREPEND ${DIR}/)
  set_source_files_properties(${R_HOT} PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off"
    SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  set(TEST_LIBRARIES)
  foreach(U ${R_USES} ${R_TEST_USES})
    list(FIND HONE_LAYERS ${U} AT)
    if(AT EQUAL -1 OR NOT AT LESS SELF)
      message(FATAL_ERROR "room ${NAME} may not use ${U}: src/LAYERS lists it later, or not at all")
    endif()
    string(REPLACE "/" "_" UID ${U})
    if(U IN_LIST R_USES)
      target_link_libraries(hone_${ID} PUBLIC hone_${UID})
    else()
      list(APPEND TEST_LIBRARIES hone_${UID})
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY HONE_ROOMS hone_${ID})

  foreach(SPEED "" "_slow")
    set(FILES ${TESTS})
    set(LABELS unit)
    if(R_SANITIZE AND NOT SPEED)
      list(APPEND LABELS sanitize)
    endif()
    if(SPEED)
      set(FILES ${SLOW_TESTS})
      set(LABELS unit slow)
    endif()
    if(FILES AND HONE_TESTS)
      set(PROGRAM ${ID}${SPEED}_test)
      add_executable(${PROGRAM} ${FILES})
      target_link_libraries(${PROGRAM} PRIVATE hone_${ID} ${TEST_LIBRARIES} GTest::gtest_main GTest::gmock)
      target_precompile_headers(${PROGRAM} REUSE_FROM hone_pch_test)
      target_compile_definitions(${PROGRAM} PRIVATE HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
      add_test(NAME ${PROGRAM} COMMAND ${PROGRAM})
      set_tests_properties(${PROGRAM} PROPERTIES WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                           LABELS "${LABELS}" TIMEOUT 1800)
    endif()
  endforeach()
  foreach(F ${FUZZERS})
    get_filename_component(STEM ${F} NAME_WE)
    if(HONE_FUZZ)
      add_executable(${ID}_${STEM} ${F})
      target_link_libraries(${ID}_${STEM} PRIVATE hone_${ID} ${TEST_LIBRARIES})
      target_link_options(${ID}_${STEM} PRIVATE -fsanitize=fuzzer)
      file(APPEND ${HONE_FUZZERS} "${ID}_${STEM} ${STEM}\n")  # program, corpus: tools/fuzz.sh
    elseif(HONE_TESTS)
      add_executable(${ID}_${STEM} ${F} ${CMAKE_SOURCE_DIR}/cmake/fuzz_replay.cc)
      target_link_libraries(${ID}_${STEM} PRIVATE hone_${ID} ${TEST_LIBRARIES})
      add_test(NAME ${ID}_${STEM} COMMAND ${ID}_${STEM} ${CMAKE_SOURCE_DIR}/tests/fuzz/${STEM})
      set(LABELS fuzz)
      if(R_SANITIZE)
        list(APPEND LABELS sanitize)
      endif()
      set_tests_properties(${ID}_${STEM} PROPERTIES LABELS "${LABELS}" TIMEOUT 300)
    endif()
    if(TARGET ${ID}_${STEM})
      target_compile_definitions(${ID}_${STEM} PRIVATE HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    endif()
  endforeach()
  if(BENCHES AND HONE_BENCHES)
    add_executable(${ID}_bench EXCLUDE_FROM_ALL ${BENCHES})
    target_link_libraries(${ID}_bench PRIVATE hone_${ID} ${TEST_LIBRARIES} benchmark::benchmark_main)
  endif()
endfunction()
