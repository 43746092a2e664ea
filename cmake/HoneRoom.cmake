# hone_room(NAME [USES room...] [TEST_USES room...] [LINKS target...]
#           [SHELF type function_prefix] [SHELF_HEADER header] [HOT file...] [ALONE file...]
#           [SHARDS n] [SANITIZE] [COLD])
#
# Declares the room src/NAME. Its sources are the .cc files beside this CMakeLists.txt:
#   x.cc -> library hone_<name with _>      x_test.cc -> one test program per room
#   x_slow_test.cc -> a second test program, which `make quick` and the sanitizers leave out
#   x_nightly_test.cc -> a third one, for `make nightly` alone
#   x_bench.cc -> one Google Benchmark program per room
#   x_fuzz.cc  -> under HONE_FUZZ one libFuzzer program per file; otherwise one program per room, which
#                 replays the corpora tests/fuzz/x
# USES lists the rooms it may include; hone_room refuses one that src/LAYERS puts later.
# TEST_USES lists the rooms that its tests, fuzzers and benches may include besides.
# SHELF makes the file name the registration: for each x.cc in the folder the function
# <prefix>_x() is declared and called by the generated <room>_all.gen.cc, which defines
# `std::vector<type> all_<prefix>();`. A file without its function is a link error.
# A helper of the shelf has a header: x.h makes x.cc and x_more.cc helpers, which define no such
# function.
# SANITIZE: the room reads bytes from outside or places memory; .ci/run has its tests and fuzz
# corpora under the address sanitizer (label sanitize). make nightly has all rooms.
# COLD: nothing in it runs for long; compiled with HONE_COLD_FLAGS, which take a fifth less time.
# HOT: files of loops over numbers, compiled each alone with -O3 and without contraction, so that
# they give the same bits on every processor.
# ALONE: files with properties of their own, or too large to be compiled with others.
# SHARDS: ctest runs the test program in this number of parts, at the same time where it can.

file(STRINGS ${CMAKE_SOURCE_DIR}/src/LAYERS HONE_LAYERS REGEX "^[^#]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/LAYERS)
set(HONE_FUZZERS ${CMAKE_BINARY_DIR}/fuzzers.txt)
file(WRITE ${HONE_FUZZERS} "")
# What `ninja sanitized_tests` builds: the programs with the label sanitize; `all_tests`: all but the slow.
add_custom_target(sanitized_tests)
add_custom_target(all_tests)

# Files of a room are compiled a few together, in a third of the time that they take one by one. So names
# in anonymous namespaces are unique in a room (tools/check_layers.py looks), and HONE_UNITY=OFF, as
# make nightly has the address sanitizer built, finds a file that lacks an include.
# The files that include them name no absolute path, so that a compiler cache knows them in every clone.
option(HONE_UNITY "compile files of a room together" ON)
# Compilers from GCC 13 on read no precompiled header that was made with other flags of the processor,
# some of which follow from -O2.
set(HONE_COLD_FLAGS -O1)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13
   AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  list(APPEND HONE_COLD_FLAGS -munroll-only-small-loops -mvzeroupper)
endif()
set(HONE_UNITY_BYTES 32000)        # of text each time
set(HONE_UNITY_BYTES_COLD 120000)   # less to optimize
set(HONE_UNITY_BYTES_TEST 120000)
function(hone_together OUT NAME BYTES)
  if(NOT HONE_UNITY)
    set(${OUT} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(FOLDER ${CMAKE_BINARY_DIR}/gen/together)
  set(GROUP 0)
  set(HELD 0)
  foreach(F ${ARGN})
    file(SIZE ${F} SIZE)
    math(EXPR HELD "${HELD} + ${SIZE}")
    if(HELD GREATER BYTES AND NOT HELD EQUAL SIZE)
      math(EXPR GROUP "${GROUP} + 1")
      set(HELD ${SIZE})
    endif()
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR ${F} GENERATED)
    if(GENERATED)
      file(RELATIVE_PATH PATH ${FOLDER} ${F})
    else()
      file(RELATIVE_PATH PATH ${CMAKE_SOURCE_DIR}/src ${F})
    endif()
    string(APPEND TEXT_${GROUP} "#include \"${PATH}\"\n")
  endforeach()
  set(MADE)
  foreach(G RANGE ${GROUP})
    if(TEXT_${G})
      file(CONFIGURE OUTPUT ${FOLDER}/${NAME}_${G}.cc @ONLY CONTENT "${TEXT_${G}}")
      list(APPEND MADE ${FOLDER}/${NAME}_${G}.cc)
    endif()
  endforeach()
  set(${OUT} ${MADE} PARENT_SCOPE)
endfunction()

# A program that replays the corpora of FILES, the fuzzers of a room.
function(hone_fuzz_replay PROGRAM)
  set(TEXT "#include \"fuzz_replay.h\"\n")
  set(TABLE "")
  foreach(F ${ARGN})
    get_filename_component(STEM ${F} NAME_WE)
    file(RELATIVE_PATH PATH ${CMAKE_SOURCE_DIR}/src ${F})
    string(APPEND TEXT "#define LLVMFuzzerTestOneInput ${STEM}_input\n#include \"${PATH}\"\n#undef LLVMFuzzerTestOneInput\n")
    string(APPEND TABLE "    {\"${STEM}\", ${STEM}_input},\n")
  endforeach()
  set(GEN ${CMAKE_BINARY_DIR}/gen/together/${PROGRAM}.cc)
  file(CONFIGURE OUTPUT ${GEN} @ONLY CONTENT "${TEXT}std::vector<FuzzTarget> all_fuzz_targets() {\n  return {\n${TABLE}  };\n}\n")
  add_executable(${PROGRAM} ${GEN} $<TARGET_OBJECTS:hone_fuzz_replay>)
  target_include_directories(${PROGRAM} PRIVATE ${CMAKE_SOURCE_DIR}/cmake)
endfunction()

function(hone_room NAME)
  cmake_parse_arguments(R "SANITIZE;COLD" "SHELF_HEADER;SHARDS" "USES;TEST_USES;LINKS;SHELF;HOT;ALONE" ${ARGN})
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
  set(NIGHTLY_TESTS)
  set(FUZZERS)
  set(BENCHES)
  foreach(F ${ALL})
    if(F MATCHES "_slow_test\\.cc$")
      list(APPEND SLOW_TESTS ${F})
    elseif(F MATCHES "_nightly_test\\.cc$")
      list(APPEND NIGHTLY_TESTS ${F})
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
  list(TRANSFORM R_HOT PREPEND ${DIR}/)
  list(TRANSFORM R_ALONE PREPEND ${DIR}/)
  set_source_files_properties(${R_HOT} PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off" SKIP_PRECOMPILE_HEADERS ON)
  set(TOGETHER ${SOURCES})
  if(R_HOT OR R_ALONE)
    list(REMOVE_ITEM TOGETHER ${R_HOT} ${R_ALONE})
  endif()
  set(BYTES ${HONE_UNITY_BYTES})
  if(R_COLD OR CMAKE_BUILD_TYPE STREQUAL "Sanitized")
    set(BYTES ${HONE_UNITY_BYTES_COLD})
  endif()
  hone_together(TOGETHER ${ID} ${BYTES} ${TOGETHER})
  add_library(hone_${ID} STATIC ${TOGETHER} ${R_HOT} ${R_ALONE})
  target_include_directories(hone_${ID} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(hone_${ID} PRIVATE "$<$<AND:$<BOOL:${R_COLD}>,$<CONFIG:Release>>:${HONE_COLD_FLAGS}>")
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

  foreach(F ${FUZZERS})
    get_filename_component(STEM ${F} NAME_WE)
    if(HONE_FUZZ)
      add_executable(${ID}_${STEM} ${F})
      target_link_libraries(${ID}_${STEM} PRIVATE hone_${ID} ${TEST_LIBRARIES})
      target_link_options(${ID}_${STEM} PRIVATE -fsanitize=fuzzer)
      target_compile_definitions(${ID}_${STEM} PRIVATE HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
      file(APPEND ${HONE_FUZZERS} "${ID}_${STEM} ${STEM}\n")  # program, corpus: tools/fuzz.sh
    endif()
  endforeach()
  if(NOT HONE_TESTS OR (HONE_SANITIZED_ELSEWHERE AND R_SANITIZE))
    set(TESTS)
    set(SLOW_TESTS)
    set(NIGHTLY_TESTS)
    set(FUZZERS)
  endif()
  set(FILES_test ${TESTS})
  set(FILES_slow_test ${SLOW_TESTS})
  set(FILES_nightly_test ${NIGHTLY_TESTS})
  set(FILES_fuzz ${FUZZERS})
  foreach(KIND test slow_test nightly_test fuzz)
    set(FILES ${FILES_${KIND}})
    if(NOT FILES)
      continue()
    endif()
    set(PROGRAM ${ID}_${KIND})
    if(KIND STREQUAL fuzz)
      hone_fuzz_replay(${PROGRAM} ${FILES})
      target_compile_definitions(${PROGRAM} PRIVATE GTEST_HAS_PTHREAD=1)  # as the precompiled header
      set(ARGUMENTS ${CMAKE_SOURCE_DIR}/tests/fuzz)
      set(LABELS fuzz)
    else()
      hone_together(FILES ${PROGRAM} ${HONE_UNITY_BYTES_TEST} ${FILES})
      add_executable(${PROGRAM} ${FILES})
      target_link_libraries(${PROGRAM} PRIVATE GTest::gtest_main GTest::gmock)
      set(ARGUMENTS)
      set(LABELS unit)
    endif()
    target_link_libraries(${PROGRAM} PRIVATE hone_${ID} ${TEST_LIBRARIES})
    if("engine/session" IN_LIST R_USES OR "engine/session" IN_LIST R_TEST_USES)
      target_precompile_headers(${PROGRAM} REUSE_FROM hone_pch_test_high)
    else()
      target_precompile_headers(${PROGRAM} REUSE_FROM hone_pch_test)
    endif()
    target_compile_options(${PROGRAM} PRIVATE -O0)
    target_compile_definitions(${PROGRAM} PRIVATE HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    if(KIND STREQUAL slow_test)
      list(APPEND LABELS slow)
    elseif(KIND STREQUAL nightly_test)
      list(APPEND LABELS nightly)
    else()
      add_dependencies(all_tests ${PROGRAM})
      if(R_SANITIZE)
        list(APPEND LABELS sanitize)
        add_dependencies(sanitized_tests ${PROGRAM})
      endif()
    endif()
    if(R_SHARDS AND KIND MATCHES "^(slow_)?test$")
      foreach(SHARD RANGE 1 ${R_SHARDS})
        math(EXPR INDEX "${SHARD} - 1")
        add_test(NAME ${PROGRAM}.${SHARD} COMMAND ${PROGRAM})
        set_tests_properties(${PROGRAM}.${SHARD} PROPERTIES WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                             LABELS "${LABELS}" TIMEOUT 1800 COST 2
                             ENVIRONMENT "GTEST_TOTAL_SHARDS=${R_SHARDS};GTEST_SHARD_INDEX=${INDEX}")
      endforeach()
    else()
      add_test(NAME ${PROGRAM} COMMAND ${PROGRAM} ${ARGUMENTS})
      set_tests_properties(${PROGRAM} PROPERTIES WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                           LABELS "${LABELS}" TIMEOUT 1800)
    endif()
  endforeach()
  if(BENCHES AND HONE_BENCHES)
    add_executable(${ID}_bench EXCLUDE_FROM_ALL ${BENCHES})
    target_link_libraries(${ID}_bench PRIVATE hone_${ID} ${TEST_LIBRARIES} benchmark::benchmark_main)
    target_compile_definitions(${ID}_bench PRIVATE HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  endif()
endfunction()
