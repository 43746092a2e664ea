# hone_kernels(ROOM K...) compiles the file K.simd.h of the room src/ROOM once per instruction set of
# the target processor, each into a namespace of its own; the dispatch is in
# engine/backends/cpu/isa/isa.h. Kernels named after BF16 are compiled for those sets too that differ
# in bf16 products alone. These files take no precompiled header: it was made for another set.
# Loops begin at lines of the instruction cache: else their speed is left to where the linker puts them.
set(HONE_ISA_FLAGS_baseline "")
set(HONE_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(HONE_ISA_FLAGS_avx512 -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl
                          -mprefer-vector-width=512)
set(HONE_ISA_FLAGS_avx512_bf16 ${HONE_ISA_FLAGS_avx512} -mavx512bf16)
set(HONE_ISA_FLAGS_amx ${HONE_ISA_FLAGS_avx512_bf16} -mamx-tile -mamx-bf16)
set(HONE_ISA_QUIET -Wno-psabi)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  list(APPEND HONE_ISA_QUIET -Wno-maybe-uninitialized -Wno-uninitialized)  # false alarms inside GCC 12's own intrinsics
endif()
set(HONE_ISAS baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND HONE_ISAS avx2 avx512)
  set(HONE_BF16_ISAS avx512_bf16 amx)
endif()

function(hone_kernels ROOM)
  cmake_parse_arguments(K "" "" "BF16" ${ARGN})
  string(REPLACE "/" "_" ID ${ROOM})
  foreach(NAME ${K_UNPARSED_ARGUMENTS} ${K_BF16})
    set(ISAS ${HONE_ISAS})
    if(NAME IN_LIST K_BF16)
      list(APPEND ISAS ${HONE_BF16_ISAS})
    endif()
    foreach(ISA ${ISAS})
      set(FILE ${CMAKE_BINARY_DIR}/gen/cpu/${NAME}_${ISA}.cc)
      file(CONFIGURE OUTPUT ${FILE} CONTENT "#define HONE_ISA ${ISA}\n#include \"${ROOM}/${NAME}.simd.h\"\n")
      set_source_files_properties(${FILE} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
                                  COMPILE_OPTIONS "-O3;-falign-loops=64;${HONE_ISA_QUIET};${HONE_ISA_FLAGS_${ISA}}")
      target_sources(hone_${ID} PRIVATE ${FILE})
    endforeach()
  endforeach()
endfunction()
