// The C interface between hone and libhone_parquet.so, the only code that includes Arrow.
//
// The module is a file of its own, loaded at the first parquet file, because Arrow's libraries
// take longer to load than everything else that hone does at its start.
#pragma once

#include <cstdint>

extern "C" {

inline constexpr int32_t kHoneParquetAbi = 1;

enum HoneParquetKind : int32_t {
  kHoneParquetNull,
  kHoneParquetText,
  kHoneParquetInteger,
  kHoneParquetFloat,
  kHoneParquetBool,
  kHoneParquetIntegers,  // list
  kHoneParquetTexts,     // list
};

struct HoneParquetText {
  const char* data;
  int64_t size;
};

// Pointers stay valid until the next call with the same file.
struct HoneParquetCell {
  HoneParquetKind kind;
  int64_t integer;  // also bool
  double number;
  HoneParquetText text;
  const int64_t* integers;
  const HoneParquetText* texts;
  int64_t count;  // of a list
};

struct HoneParquetFile;

// Functions that can fail give null or -1, and then error() of the file or open's `error` says why.
struct HoneParquetApi {
  int32_t abi;
  // A local path, or bytes (path null) that outlive the file. `error` is a buffer of 512 bytes.
  HoneParquetFile* (*open)(const char* path, const char* bytes, int64_t size, char* error);
  void (*close)(HoneParquetFile* file);
  int64_t (*rows)(const HoneParquetFile* file);
  int64_t (*columns)(const HoneParquetFile* file);
  const char* (*column_name)(const HoneParquetFile* file, int64_t column);
  int32_t (*seek)(HoneParquetFile* file, int64_t row);
  // Fills columns() cells with the next row: 1, or 0 behind the last row, or -1.
  int32_t (*next)(HoneParquetFile* file, HoneParquetCell* cells);
  const char* (*error)(const HoneParquetFile* file);
};

// The module's only symbol.
const HoneParquetApi* hone_parquet_api();
}
