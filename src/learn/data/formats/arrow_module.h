// The C interface between hone and libhone_arrow.so, the only code that includes Arrow.
//
// The module is a file of its own, loaded at the first parquet or Arrow file, because Arrow's
// libraries take longer to load than everything else that hone does at its start.
#pragma once

#include <cstdint>

extern "C" {

inline constexpr int32_t kHoneArrowAbi = 6;

enum HoneArrowFormat : int32_t {
  kHoneArrowParquet,
  kHoneArrowIpc,  // Arrow's own file and stream formats, told apart by their first bytes
};

enum HoneArrowKind : int32_t {
  kHoneArrowNull,
  kHoneArrowText,
  kHoneArrowInteger,
  kHoneArrowFloat,
  kHoneArrowBool,
  kHoneArrowIntegers,  // list
  kHoneArrowTexts,     // list
  kHoneArrowNested,    // anything else, as JSON in `text`
  kHoneArrowFile,      // a struct of bytes and path: bytes in `text`, the path in texts[0]
};

struct HoneArrowText {
  const char* data;
  int64_t size;
};

// Pointers stay valid until the next call with the same file.
struct HoneArrowCell {
  HoneArrowKind kind;
  int64_t integer;  // also bool
  double number;
  HoneArrowText text;
  const int64_t* integers;
  const HoneArrowText* texts;
  int64_t count;  // of a list
};

struct HoneArrowFile;

// The source of a file's bytes: a local path, bytes in memory, or a function that reads a part.
// Bytes and reader outlive the file.
struct HoneArrowInput {
  const char* path;
  const char* bytes;  // if path is null
  int64_t size;       // of bytes, or of the file that `read` reads
  // If path and bytes are null. Fills `to` with the bytes from `offset`, or gives -1. It may be called
  // from several threads at a time.
  int32_t (*read)(void* reader, int64_t offset, int64_t bytes, void* to);
  void* reader;
  int64_t most_bytes;  // that the file may take of memory while it is read; 0: no limit
};

// Functions that can fail give null or a negative number, and then error() of the file or open's `error` says why.
struct HoneArrowApi {
  int32_t abi;
  // `error` is a buffer of 512 bytes.
  HoneArrowFile* (*open)(HoneArrowFormat format, const HoneArrowInput* input, char* error);
  void (*close)(HoneArrowFile* file);
  int64_t (*columns)(const HoneArrowFile* file);
  const char* (*column_name)(const HoneArrowFile* file, int64_t column);
  // After the next seek() only these columns (ascending) are read; the cells of others are null.
  void (*select)(HoneArrowFile* file, const int32_t* columns, int32_t count);
  int32_t (*seek)(HoneArrowFile* file, int64_t row);
  // Fills columns() cells with the next row: 1, or 0 after the last row, or -1, or -2 if a part of the
  // file takes more memory than most_bytes.
  int32_t (*next)(HoneArrowFile* file, HoneArrowCell* cells);
  const char* (*error)(const HoneArrowFile* file);
  // The text that the schema keeps under a key, or null.
  const char* (*metadata)(const HoneArrowFile* file, const char* key);
};

// The module's only symbol.
const HoneArrowApi* hone_arrow_api();
}
