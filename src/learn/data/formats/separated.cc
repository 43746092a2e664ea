#include "learn/data/formats/separated.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/data/formats/errors.h"
#include "learn/data/formats/text_row_reader.h"

namespace hone {
namespace {

struct Place {
  int64_t line = 0, column = 0;  // 0: none
};

struct Field {
  std::string text;
  bool quoted = false;
  int64_t line = 1, column = 1;  // of its first byte
};

class SeparatedReader final : public TextRowReader {
 public:
  SeparatedReader(std::unique_ptr<Source> source, char separator, Quoting quoting,
                  const std::string& header_example)
      : TextRowReader(ByteReader(std::move(source))),
        separator_(separator),
        quoting_(quoting),
        header_example_(join(split(header_example, ','), std::string(1, separator))) {}

  Status take_header(const std::vector<std::string>& names) {
    skip_blank_lines();
    HONE_TRY(in_.status());
    if (in_.peek() == ByteReader::kEnd)
      return Error(err::kCsvHeaderOnly, fmt::format("'{}' is empty", in_.name()))
          .todo("each of its lines must be a row");
    columns_ = names;
    return Ok{};
  }

  Status read_header() {
    std::vector<Field> fields;
    const bool found = HONE_TRY(read_record(fields));
    if (!found) {
      return Error(err::kCsvHeaderOnly, fmt::format("'{}' is empty", in_.name()))
          .todo("its first line must name the columns, for example: " + header_example_);
    }
    for (Field& field : fields) columns_.push_back(std::move(field.text));
    skip_blank_lines();
    HONE_TRY(in_.status());
    if (in_.peek() == ByteReader::kEnd) return header_only();
    HONE_TRY(in_.status());
    return Ok{};
  }

 private:
  Result<bool> read_row(Row& row) override {
    skip_blank_lines();
    row.line = in_.line();
    if (!HONE_TRY(read_record(fields_))) return false;
    row.cells.clear();
    for (Field& field : fields_) row.cells.emplace_back(std::move(field.text));
    row.cells.resize(columns_.size());
    return true;
  }

  // Past line ends and past lines of spaces and tabs alone (a tab that separates is a field).
  void skip_blank_lines() {
    for (;;) {
      size_t n = 0;
      int c = in_.peek();
      while ((c == ' ' || c == '\t') && c != separator_) c = in_.peek(++n);
      if (c == ByteReader::kEnd && n > 0) {
        while (n-- > 0) in_.get();
        return;
      }
      if (c != '\n' && c != '\r') return;
      for (size_t i = 0; i <= n; ++i) in_.get();
    }
  }

  // The next record; false at the end.
  Result<bool> read_record(std::vector<Field>& fields) {
    fields.clear();
    spanning_ = {};
    skip_blank_lines();
    HONE_TRY(in_.status());
    if (in_.peek() == ByteReader::kEnd) return false;
    bool continued = false;  // whether text follows the closing quote of spanning_
    for (;;) {
      Field& field = fields.emplace_back();
      field.line = in_.line();
      field.column = in_.column();
      if (quoting_ != Quoting::kNone && in_.peek() == '"' &&
          (quoting_ == Quoting::kRfc4180 || closing_quote_fits())) {
        field.quoted = true;
        HONE_TRY(read_quoted(field));
      }
      const size_t closed = field.text.size();
      const bool spans = in_.line() > field.line;
      int c;
      while ((c = in_.get()) != ByteReader::kEnd && c != separator_ && c != '\n' && c != '\r') {
        field.text += static_cast<char>(c);
      }
      HONE_TRY(in_.status());
      HONE_TRY(
          check_utf8(field.text, in_.name(), field.line, field.column + (field.quoted ? 1 : 0)));
      if (!columns_.empty() && fields.size() > columns_.size())
        return too_many(field, fields.size());
      // The sure sign of a quote that was not closed: the next quote opens another text.
      const bool text_follows = spans && field.text.size() > closed;
      if (spans && (spanning_.line == 0 || (text_follows && !continued)))
        spanning_ = {field.line, field.column}, continued = text_follows;
      if (c == '\r' && in_.peek() == '\n') in_.get();
      if (c != separator_) return true;
    }
  }

  // From the opening quote to after the closing one.
  Status read_quoted(Field& field) {
    in_.get();
    for (;;) {
      const bool closed = in_.take_until('"', field.text);
      HONE_TRY(in_.status());
      if (!closed) {
        return malformed("a quoted field does not end before the end of the file", field,
                         "close it with \", and write a quote inside a field twice (\"\")");
      }
      in_.get();
      if (in_.peek() != '"') return Ok{};
      field.text += static_cast<char>(in_.get());
    }
  }

  bool closing_quote_fits() {
    for (size_t i = 1;; ++i) {
      int c = in_.peek(i);
      if (c == ByteReader::kEnd) return false;
      if (c != '"') continue;
      c = in_.peek(++i);
      if (c == '"') continue;
      return c == separator_ || c == '\n' || c == '\r' || c == ByteReader::kEnd;
    }
  }

  Error too_many(const Field& field, size_t count) const {
    return malformed(
        fmt::format("field {} '{}' of a row has no column: the header names {} ({})", count,
                    preview(field.text, 30), columns_.size(), preview(join(columns_, ", "))),
        field, "put \" around a field that holds the separator or a line break");
  }

  // Names also the quoted field from an earlier line that the row began with.
  Error malformed(const std::string& what, const Field& field, const std::string& remedy) const {
    Error error(err::kCsvSyntax, what);
    error.at(in_.place(field.line, field.column));
    if (spanning_.line == 0) return std::move(error.todo(remedy));
    const std::string quote = in_.place(spanning_.line, spanning_.column);
    error.at(quote + ", where a quoted field of the row begins");
    return std::move(error.todo(fmt::format("close the quote at {} if its text ends in line {}; {}",
                                            quote, spanning_.line, remedy)));
  }

  Error header_only() const {
    const std::string& first = columns_[0];
    if (columns_.size() == 1 && first.size() > 40) {
      return Error(err::kCsvHeaderOnly, fmt::format("'{}' has 0 rows: its first record ({} "
                                                    "characters, \"{}\") was taken as the header",
                                                    in_.name(), first.size(), preview(first, 40)))
          .at(in_.place(1, 1))
          .todo(
              "put a line with the column's name, text, before it; or make the file again from "
              "the plain text: hone texttocsv train.txt train.csv");
    }
    return Error(err::kCsvHeaderOnly,
                 fmt::format("'{}' has 0 rows: its first line was taken as the header ({})",
                             in_.name(), preview(join(columns_, ", "))))
        .at(in_.place(1, 1))
        .todo(fmt::format(
            "if that line is data, put a line with the columns' names, for example {}, before it",
            header_example_));
  }

  char separator_;
  Quoting quoting_;
  std::string header_example_;
  std::vector<Field> fields_;
  Place spanning_;  // the quoted field of this record that spans lines
};

}  // namespace

Result<std::unique_ptr<RowReader>> open_separated(std::unique_ptr<Source> source, char separator,
                                                  Quoting quoting, const RowOptions& options) {
  if (!options.quoted) quoting = Quoting::kNone;
  auto reader = std::make_unique<SeparatedReader>(std::move(source), separator, quoting,
                                                  options.header_example);
  HONE_TRY(options.column_names.empty() ? reader->read_header()
                                        : reader->take_header(options.column_names));
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace hone
