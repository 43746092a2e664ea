// .txt: a row is a line, a paragraph (text between blank lines) or the whole file; one column
// `text`. Semantics of lines and paragraphs: the text builder of the `datasets` library
// (universal newlines; paragraphs are split at LF LF, empty ones dropped).
#include <algorithm>

#include "learn/data/formats/errors.h"
#include "learn/data/formats/rows.h"

namespace hone {
namespace {

class TextReader final : public RowReader {
 public:
  TextReader(std::unique_ptr<Source> source, const RowOptions& options)
      : in_(std::move(source)), options_(options) {}

  const std::vector<std::string>& columns() const override { return columns_; }

  Result<bool> next(Row& row) override {
    const int64_t line = in_.line(), offset = in_.offset();
    const int64_t column = in_.column();
    std::string text;
    const bool more = options_.sample_by == SampleBy::kDocument    ? document(text)
                      : options_.sample_by == SampleBy::kParagraph ? paragraph(text)
                                                                   : one_line(text);
    HONE_TRY(in_.status());
    if (!more) return false;
    if (Status ok = check_utf8(text, in_.name(), line, column); !ok.ok()) {
      HONE_TRY(in_.seek(offset, line, column));
      return std::move(ok.error());
    }
    row.cells.assign(1, Cell(std::move(text)));
    row.file = in_.name();
    row.line = line;
    row.line_is_row = false;
    ++rows_;
    return true;
  }
  RowPosition position() const override { return {0, in_.offset(), in_.line(), rows_}; }
  Status seek(const RowPosition& at) override {
    rows_ = at.row;
    return in_.seek(at.offset, at.line);
  }

 private:
  // Appends a line with its break as LF; false when nothing is left. CR LF and CR are breaks.
  bool read_line(std::string& text) {
    if (in_.peek() == ByteReader::kEnd) return false;
    for (int c; (c = in_.get()) != ByteReader::kEnd;) {
      if (c == '\r') {
        if (in_.peek() == '\n') in_.get();
        c = '\n';
      }
      text += static_cast<char>(c);
      if (c == '\n') break;
    }
    return true;
  }
  bool one_line(std::string& text) {
    if (!read_line(text)) return false;
    if (!options_.keep_linebreaks && text.ends_with('\n')) text.pop_back();
    return true;
  }
  // The pieces that splitting at LF LF gives: of three LFs in a row the third begins the next.
  bool paragraph(std::string& text) {
    for (;;) {
      while (!text.ends_with("\n\n")) {
        if (!read_line(text)) return !text.empty();
      }
      text.resize(text.size() - 2);
      if (!text.empty()) return true;
    }
  }
  bool document(std::string& text) {
    if (in_.offset() > 0 || in_.peek() == ByteReader::kEnd) return false;
    while (in_.peek() != ByteReader::kEnd) {
      in_.take_until('\0', text);
      if (const int c = in_.get(); c != ByteReader::kEnd) text += static_cast<char>(c);
    }
    return true;
  }

  ByteReader in_;
  RowOptions options_;
  std::vector<std::string> columns_ = {"text"};
  int64_t rows_ = 0;
};

Result<std::unique_ptr<RowReader>> open_text(std::unique_ptr<Source> source,
                                             const RowOptions& options) {
  return std::unique_ptr<RowReader>(std::make_unique<TextReader>(std::move(source), options));
}

}  // namespace

Format format_text() {
  return {"text", {"txt", "text"}, "a row is a line, a paragraph or the document", open_text};
}

}  // namespace hone
