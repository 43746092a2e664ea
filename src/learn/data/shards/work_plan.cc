#include "learn/data/shards/work_plan.h"

#include <algorithm>

#include "base/store/store.h"
#include "base/store/unpack.h"
#include "learn/data/rows/files.h"

namespace hone {
namespace {

constexpr int64_t kLookBytes = int64_t{64} << 10;

// The rows that begin before `end`, where a line begins.
class RowsBefore final : public RowReader {
 public:
  RowsBefore(std::unique_ptr<RowReader> rows, int64_t end) : rows_(std::move(rows)), end_(end) {}
  const std::vector<std::string>& columns() const override { return rows_->columns(); }
  Result<bool> next(Row& row) override {
    if (position().offset >= end_ || !HONE_TRY(rows_->next(row))) return false;
    // Blank lines may be between this place and a row that begins after the end.
    return position().offset <= end_;
  }
  RowPosition position() const override { return rows_->position(); }
  LabelNames label_names() const override { return rows_->label_names(); }
  void read_only(const std::vector<size_t>& columns) override { rows_->read_only(columns); }
  Status seek(const RowPosition& to) override { return rows_->seek(to); }

 private:
  std::unique_ptr<RowReader> rows_;
  int64_t end_;
};

}  // namespace

Result<bool> can_cut(const std::string& file, const RowOptions& options) {
  const Format format = HONE_TRY(find_format(file, options));
  const bool lines =
      format.name == "jsonl" || (format.name == "text" && options.sample_by == SampleBy::kLine);
  if (!lines || options.encoding != Charset::kUtf8) return false;
  const int64_t bytes = HONE_TRY(file_store().bytes(file));
  const std::string head = HONE_TRY(file_store().read(file, 0, std::min<int64_t>(bytes, 16)));
  if (packing_of_bytes(head) != Packing::kNone) return false;
  // Objects over several lines leave the reader before the end of a line.
  const std::unique_ptr<RowReader> rows = HONE_TRY(open_rows({file}, options));
  Row row;
  if (!HONE_TRY(rows->next(row))) return false;
  const int64_t end = rows->position().offset;
  return end > 0 && HONE_TRY(file_store().read(file, end - 1, 1)) == "\n";
}

Result<int64_t> line_start(const std::string& file, int64_t offset) {
  if (offset <= 0) return int64_t{0};
  const std::unique_ptr<Reader> reader = HONE_TRY(file_store().open(file));
  std::string text;
  for (int64_t at = offset - 1; at < reader->bytes(); at += static_cast<int64_t>(text.size())) {
    text.resize(static_cast<size_t>(std::min(kLookBytes, reader->bytes() - at)));
    HONE_TRY(reader->read(at, std::as_writable_bytes(std::span(text))));
    if (const size_t found = text.find('\n'); found != std::string::npos)
      return at + static_cast<int64_t>(found) + 1;
  }
  return reader->bytes();
}

Result<std::vector<WorkItem>> items_of(const std::vector<TextPart>& parts, int64_t item_bytes) {
  std::vector<WorkItem> items;
  for (size_t p = 0; p < parts.size(); ++p) {
    int64_t together = 0;  // bytes of the whole files of the last item; 0: the next begins one
    for (size_t f = 0; f < parts[p].files.size(); ++f) {
      const std::string& file = parts[p].files[f];
      const int64_t bytes = HONE_TRY(file_store().bytes(file));
      if (bytes > item_bytes && HONE_TRY(can_cut(file, parts[p].rows))) {
        const int64_t pieces = (bytes + item_bytes - 1) / item_bytes;
        for (int64_t k = 0; k < pieces; ++k)
          items.push_back(
              {p, f, f + 1, k * item_bytes, k + 1 < pieces ? (k + 1) * item_bytes : INT64_MAX});
        together = 0;
        continue;
      }
      if (together > 0 && together + bytes <= item_bytes) {
        ++items.back().end_file;
      } else {
        items.push_back({p, f, f + 1});
        together = 0;
      }
      together += std::max<int64_t>(bytes, 1);
    }
  }
  return items;
}

Result<std::unique_ptr<RowReader>> open_item(const TextPart& part, const WorkItem& item,
                                             const std::vector<std::string>& columns,
                                             int64_t line) {
  std::vector<std::string> files(part.files.begin() + static_cast<int64_t>(item.first_file),
                                 part.files.begin() + static_cast<int64_t>(item.end_file));
  const std::string file = files[0];
  auto rows = HONE_TRY(open_rows_after(columns, std::move(files), part.rows));
  if (item.begin > 0) {
    const int64_t begin = HONE_TRY(line_start(file, item.begin));
    HONE_TRY(rows->seek({0, begin, line, 0, 1}));
  }
  if (item.end == INT64_MAX) return rows;
  const int64_t end = HONE_TRY(line_start(file, item.end));
  return std::unique_ptr<RowReader>(std::make_unique<RowsBefore>(std::move(rows), end));
}

Result<int64_t> first_line_of(const TextPart& part, const WorkItem& item) {
  const std::string& file = part.files[item.first_file];
  const int64_t end = item.begin > 0 ? HONE_TRY(line_start(file, item.begin)) : 0;
  const std::unique_ptr<Reader> reader = HONE_TRY(file_store().open(file));
  int64_t line = 1;
  std::string text;
  for (int64_t at = 0; at < end; at += static_cast<int64_t>(text.size())) {
    text.resize(static_cast<size_t>(std::min(kLookBytes, end - at)));
    HONE_TRY(reader->read(at, std::as_writable_bytes(std::span(text))));
    line += std::count(text.begin(), text.end(), '\n');
  }
  return line;
}

}  // namespace hone
