// Rows of data files: the interface RowReader that each format implements, and the list of all formats.
//
// A format is one file of this folder: x.cc defines `Format format_x()`. The build finds it by its file name, which is
// also its name for users (--data_format x).
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

// A nested value (an object, a list of lists) as JSON text.
struct RawJson {
  std::string text;
  bool operator==(const RawJson&) const = default;
};

// A file in a cell, in the form of images of Hugging Face's `datasets` library: its bytes; if `bytes` is empty, `path`
// is the path of the file.
struct FileCell {
  std::string bytes, path;
  bool operator==(const FileCell&) const = default;
};

// One value. A missing value (null) is std::monostate. The formats csv, tsv and text have only texts and nulls.
using Cell = std::variant<std::monostate, std::string, int64_t, double, bool, std::vector<int64_t>,
                          std::vector<std::string>, RawJson, FileCell>;
const char* cell_type_name(const Cell& cell);  // "text", "integer", "null", "list of integers" ...

struct Row {
  // cells[i] belongs to column i of RowReader::columns(); a cell for every column.
  std::vector<Cell> cells;
  std::string_view file;  // the file's name; valid as long as the reader
  // The line at which the row begins; with line_is_row the number of the row in the file. 1-based.
  int64_t line = 0;
  // The place of the row for messages: "train.csv:7", "train.parquet row 7".
  std::string where() const;
  // true: the format has no lines (such as parquet), and `line` is the number of the row.
  bool line_is_row = false;
};

// The place of a row in the data. Callers only save it and pass it to RowReader::seek().
struct RowPosition {
  int64_t file = 0;  // index of the file (several files are read as one)
  // Byte offset in the file; in formats without lines (parquet) the 0-based row number.
  int64_t offset = 0;
  int64_t line = 1;    // line at `offset`, 1-based
  int64_t row = 0;     // rows that next() returned before, over all files
  int64_t column = 1;  // column at `offset`, in bytes, 1-based
  bool operator==(const RowPosition&) const = default;
};

// The unit that is a row of a .txt file: a line, the text between blank lines, or the whole file.
enum class SampleBy { kLine, kParagraph, kDocument };

struct RowOptions {
  // A format's name or file extension; empty: the file's own extension decides.
  std::string format = {};
  Charset encoding = Charset::kUtf8;  // encoding of text formats
  // .txt only. For lines and paragraphs CR LF and CR become LF, as in Python's text files. A document keeps every byte
  // except a byte order mark, so it equals the cell that `hone texttocsv` writes.
  SampleBy sample_by = SampleBy::kLine;
  bool keep_linebreaks = true;  // .txt by lines: each row ends with the LF of its line
  // .json only: the key that holds the rows. Empty: the key "data" if it exists, else the whole file.
  std::string json_field = {};
  // .csv and .tsv only: the names of the columns of a file without a header line. Empty: the first line is the header.
  std::vector<std::string> column_names = {};
  // .csv and .tsv only: the example of a header line in the error about a missing header: names joined by ",".
  std::string header_example = "text";
  // .csv and .tsv only. false: quotes are ordinary bytes, as in GLUE's own files.
  bool quoted = true;
  ReadLimits limits = {};
};

// By column name: the names of the classes 0, 1, ... of a column of class numbers (ClassLabel of `datasets`).
using LabelNames = std::map<std::string, std::vector<std::string>>;

// Streams the rows in file order. Formats of text hold one row and a read buffer in memory.
class RowReader {
 public:
  virtual ~RowReader() = default;
  // The names of the columns in file order. json and jsonl may append names while rows are read.
  virtual const std::vector<std::string>& columns() const = 0;
  // Fills `row` with the next row. Returns false after the last row. After an error position() is unchanged, so the
  // next call reads the same row again.
  virtual Result<bool> next(Row& row) = 0;
  // The position of the row that next() would return.
  virtual RowPosition position() const = 0;
  // The class names that the file has; empty if it has none.
  virtual LabelNames label_names() const { return {}; }
  // Sets the columns that the caller needs from now on, as indices into columns(). Formats that store each column
  // separately, such as parquet, then skip the other columns and return null in their cells.
  virtual void read_only(const std::vector<size_t>& /*columns*/) {}
  // Makes the row at `position` the next one. `position` comes from position() of a reader of the same files with the
  // same options.
  virtual Status seek(const RowPosition& position) = 0;
};

struct Format {
  std::string name;
  std::vector<std::string> extensions;  // without dot, lower case
  std::string about;                    // one line for docs and --help
  Result<std::unique_ptr<RowReader>> (*open)(std::unique_ptr<Source>, const RowOptions&);
  // true: a text format. Its source is unpacked and converted from RowOptions::encoding while it is read.
  // false: a binary format. Its source is a local file, a URL, or bytes in memory (the unpacked file).
  bool text = false;
  // true: files are never unpacked, even if the first bytes look like a compressed file.
  bool is_never_packed = false;
};
// All formats; the build generates the definition from the file names.
std::vector<Format> all_format();

// The format of a file: options.format; if it is empty, the format of the name's extension. An ending .gz, .zst, .bz2,
// .xz or .zip is removed first. Errors: H2103 an unknown format or extension; H2104 the extension of a compression that
// hone does not read (.7z).
Result<Format> find_format(const std::string& file_name, const RowOptions& options);

// Opens a source in the format that find_format chooses for its name. Unpacks a compressed source. Errors: those of
// find_format, unpacked() and the format; H2108 the text is in UTF-16 or UTF-32 but options.encoding is kUtf8.
Result<std::unique_ptr<RowReader>> open_source(std::unique_ptr<Source> source,
                                               const RowOptions& options);

// The text of cell `column` of the row, valid as long as the row; empty for null. `name`: the column's name for
// messages. Errors: H2110 the cell holds another type.
Result<std::string_view> cell_text(const Row& row, size_t column, std::string_view name);

}  // namespace hone
