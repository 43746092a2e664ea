# Finds Arrow C++ inside the pyarrow wheel (no Debian release packages it) and defines the
# interface target hone_arrow, HONE_ARROW_LIB_DIR and HONE_ARROW_FOUND. Without it hone builds
# and says at run time that it cannot read parquet.
#   -DHONE_PYTHON=/path/to/python   a Python that has pyarrow
#   -DHONE_ARROW=OFF                do not look
option(HONE_ARROW "read parquet through Arrow when pyarrow is there" ON)
set(HONE_PYTHON "" CACHE FILEPATH "a Python whose pyarrow holds Arrow C++")
set(HONE_ARROW_FOUND FALSE)
if(NOT HONE_ARROW)
  return()
endif()
find_program(HONE_PYTHON3 python3)
foreach(PYTHON ${HONE_PYTHON} $ENV{HONE_VENV}/bin/python ${CMAKE_SOURCE_DIR}/build/venv/bin/python
        $ENV{VIRTUAL_ENV}/bin/python ${CMAKE_SOURCE_DIR}/.venv/bin/python
        ${CMAKE_SOURCE_DIR}/../venv/bin/python ${HONE_PYTHON3})
  if(NOT EXISTS ${PYTHON})
    continue()
  endif()
  execute_process(COMMAND ${PYTHON} -c "import importlib.util as u, os; print(os.path.dirname(u.find_spec('pyarrow').origin))"
                  OUTPUT_VARIABLE ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE FAILED)
  if(FAILED)
    continue()
  endif()
  file(GLOB LIBARROW ${ROOT}/libarrow.so.*)
  file(GLOB LIBPARQUET ${ROOT}/libparquet.so.*)
  if(LIBARROW AND LIBPARQUET AND EXISTS ${ROOT}/include/parquet/arrow/reader.h)
    list(GET LIBARROW 0 LIBARROW)
    list(GET LIBPARQUET 0 LIBPARQUET)
    set(HONE_ARROW_FOUND TRUE)
    set(HONE_ARROW_LIB_DIR ${ROOT})
    set(HONE_ARROW_LIBRARIES ${LIBPARQUET} ${LIBARROW})
    add_library(hone_arrow INTERFACE)
    target_include_directories(hone_arrow SYSTEM INTERFACE ${ROOT}/include)
    target_link_libraries(hone_arrow INTERFACE ${LIBPARQUET} ${LIBARROW})
    message(STATUS "Arrow: ${ROOT}")
    break()
  endif()
endforeach()
if(NOT HONE_ARROW_FOUND)
  message(STATUS "Arrow: not found, so no parquet (pip install 'pyarrow==26.*', then configure again)")
endif()
