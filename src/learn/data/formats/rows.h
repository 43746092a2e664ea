// Rows of a data file: the interface of every format's reader, and the shelf of formats.
//
// A format is one file of this folder: x.cc defines `Format format_x()`, and the file name is
// its registration and the name that the user types (--data_format x).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/core/error.h"
#include "learn/data/formats/bytes.h"
#include "learn/data/formats/encoding.h"

namespace hone {

// A nested value (object, list of lists) as the JSON text it was written as.
struct RawJson {
  std::string text;
  bool operator==(const RawJson&) const = default;
};

// A file in a cell, as the `datasets` library keeps images: its bytes, or (no bytes) its path elsewhere.
struct FileCell {
  std::string bytes, path;
  bool operator==(const FileCell&) const = default;
};

// One value. csv, tsv and text give text only; a missing value is std::monostate.
using Cell = std::variant<std::monostate, std::string, int64_t, double, bool, std::vector<int64_t>,
                          std::vector<std::string>, RawJson, FileCell>;
const char* cell_type_name(const Cell& cell);  // "text", "integer", "null", "list of integers" ...

struct Row {
  std::vector<Cell> cells;    // cells[i] belongs to columns()[i]; never fewer than columns
  std::string_view file;      // owned by the reader
  int64_t line = 0;           // where the row begins, 1-based; for parquet the row number
  std::string where() const;  // "train.csv:7", "train.parquet row 7"
  bool line_is_row = false;
};

// The place of the next row. Users only save it and pass it to seek().
struct RowPosition {
  int64_t file = 0;    // index of the file (several files are read as one)
  int64_t offset = 0;  // byte offset in it (parquet: row number)
  int64_t line = 1;    // line at that offset
  int64_t row = 0;     // rows given so far, over all files
  int64_t column = 1;  // in bytes, at that offset
  bool operator==(const RowPosition&) const = default;
};

enum class SampleBy { kLine, kParagraph, kDocument };

struct RowOptions {
  std::string format = {};            // name on the shelf, or empty: by the file's extension
  Charset encoding = Charset::kUtf8;  // of text formats
  // .txt only. Lines and paragraphs read CR LF and CR as LF, as Python's text files do;
  // a document keeps every byte (but a byte order mark), so that it equals the cell that texttocsv
  // makes of it.
  SampleBy sample_by = SampleBy::kLine;
  bool keep_linebreaks = true;
  std::string json_field = {};  // .json: the key that holds the rows; empty: "data" or the file
  // .csv and .tsv. Names of the columns of a file without a header line; and whether quotes mean
  // anything (GLUE's own files have none).
  std::vector<std::string> column_names = {};
  std::string header_example = "text";  // the columns that the caller needs, for advice
  bool quoted = true;
  ReadLimits limits = {};
};

// Names of the values 0, 1, ... of columns that hold classes (ClassLabel of `datasets`), by column.
using LabelNames = std::map<std::string, std::vector<std::string>>;

// Streams rows in file order. All memory is that of one row and a read buffer.
class RowReader {
 public:
  virtual ~RowReader() = default;
  // Names in file order. json and jsonl may append names while rows are read.
  virtual const std::vector<std::string>& columns() const = 0;
  // Fills `row`; false after the last one. After an error the reader stays where it was.
  virtual Result<bool> next(Row& row) = 0;
  // The position of the row that next() would return.
  virtual RowPosition position() const = 0;
  virtual LabelNames label_names() const { return {}; }  // if the file has them
  // From now on the caller needs only these columns (indices of columns()). Formats that store columns
  // apart do not read others, whose cells are null then.
  virtual void read_only(const std::vector<size_t>& /*columns*/) {}
  // `position` comes from position() of a reader of the same file and options.
  virtual Status seek(const RowPosition& position) = 0;
};

struct Format {
  std::string name;
  std::vector<std::string> extensions;  // without dot, lower case
  std::string about;                    // one line for docs and --help
  Result<std::unique_ptr<RowReader>> (*open)(std::unique_ptr<Source>, const RowOptions&);
  // Characters one after the other: read as RowOptions::encoding says, and unpacked while they are
  // read. Other formats get a whole file: a path, or bytes in memory.
  bool text = false;
  // Its files are read as they are, even if their first bytes are those of a packed file.
  bool is_never_packed = false;
};
std::vector<Format> all_format();  // generated from the folder

// The format of a file by its extension (in front of .gz, .zst, .bz2, .xz, .zip) or by
// options.format. Errors: H2103; H2104 for the name of a compression that is not read.
Result<Format> find_format(const std::string& file_name, const RowOptions& options);

// The rows of a source in the format of its name; compressed or not, in options.encoding.
// Errors: those of find_format, unpacked(), the format; H2108 for UTF-16 that options.encoding does
// not name.
Result<std::unique_ptr<RowReader>> open_source(std::unique_ptr<Source> source,
                                               const RowOptions& options);

// The text of a cell. Null is the empty text. Errors: H2110 with the row's place.
Result<std::string_view> cell_text(const Row& row, size_t column, std::string_view name);

}  // namespace hone
