// The C interface between hone and libhone_arrow.so, the only code that includes Arrow.
//
// hone loads the module when it opens the first parquet or Arrow file, because Arrow's libraries take longer to load
// than everything else that hone does at its start.
#pragma once

#include <cstdint>

extern "C" {

inline constexpr int32_t kHoneArrowAbi = 6;

enum HoneArrowFormat : int32_t {
  kHoneArrowParquet,
  kHoneArrowIpc,  // Arrow's IPC file or stream format; the first bytes decide which
};

enum HoneArrowKind : int32_t {
  kHoneArrowNull,
  kHoneArrowText,
  kHoneArrowInteger,
  kHoneArrowFloat,
  kHoneArrowBool,
  kHoneArrowIntegers,  // a list of integers, without nulls
  kHoneArrowTexts,     // a list of texts, without nulls
  kHoneArrowNested,    // any other value, as JSON in `text`
  // A struct with the fields bytes and path: the bytes are in `text`, the path in texts[0].
  kHoneArrowFile,
};

// Text or bytes, not ended by a null byte. The module owns the memory.
struct HoneArrowText {
  const char* data;
  int64_t size;
};

// One value. `kind` decides which other members are set. The pointers are valid until the next call of a function with
// the same file.
struct HoneArrowCell {
  HoneArrowKind kind;
  int64_t integer;  // for kHoneArrowInteger; 0 or 1 for kHoneArrowBool
  double number;    // for kHoneArrowFloat
  HoneArrowText text;
  const int64_t* integers;
  const HoneArrowText* texts;
  int64_t count;  // number of elements of `integers` or `texts`
};

struct HoneArrowFile;

// The source of a file's bytes. Exactly one of `path`, `bytes` and `read` is set; the others are null. `bytes` and
// `reader` must outlive the HoneArrowFile.
struct HoneArrowInput {
  const char* path;   // a local file
  const char* bytes;  // the whole file in memory
  int64_t size;       // bytes in `bytes`, or in the file that `read` reads; not used with `path`
  // Copies `bytes` bytes of the file from `offset` to `to`. Returns 0, or -1 on failure. May be called by several
  // threads at a time. `reader` is the member below.
  int32_t (*read)(void* reader, int64_t offset, int64_t bytes, void* to);
  void* reader;
  int64_t most_bytes;  // the most memory in bytes that reading may take; 0: no limit
};

// The functions of the module. A function that fails returns null or a negative number. error() then returns the
// reason; open() writes it to its argument `error`.
struct HoneArrowApi {
  int32_t abi;  // kHoneArrowAbi of the module; other values are another version of this interface
  // Opens a file; the caller closes it with close(). `error` is a buffer of 512 bytes for the reason of a failure.
  HoneArrowFile* (*open)(HoneArrowFormat format, const HoneArrowInput* input, char* error);
  void (*close)(HoneArrowFile* file);
  int64_t (*columns)(const HoneArrowFile* file);
  const char* (*column_name)(const HoneArrowFile* file, int64_t column);
  // Chooses the columns to read, as ascending indices, from the next seek() on. Cells of other columns are then null.
  void (*select)(HoneArrowFile* file, const int32_t* columns, int32_t count);
  // Makes row `row`, from 0, the next row. Returns 0, or a negative number on failure.
  int32_t (*seek)(HoneArrowFile* file, int64_t row);
  // Fills `cells`, one for each column of the file, from the next row. Returns 1; 0 after the last row; -1 on failure;
  // -2 if a part of the file takes more memory than most_bytes.
  int32_t (*next)(HoneArrowFile* file, HoneArrowCell* cells);
  const char* (*error)(const HoneArrowFile* file);
  // The value of `key` in the metadata of the schema; null if there is no such key. Valid until close().
  const char* (*metadata)(const HoneArrowFile* file, const char* key);
};

// The module's only symbol.
const HoneArrowApi* hone_arrow_api();
}
