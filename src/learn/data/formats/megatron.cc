// .idx, .bin: Megatron-LM's token files (megatron_index.h). A row is a sequence, with the one column
// `input_ids`. The .bin of the same name is beside the .idx; either may be named.
#include <algorithm>
#include <cstring>

#include "base/store/store.h"
#include "learn/data/formats/errors.h"
#include "learn/data/formats/megatron_index.h"
#include "learn/data/formats/rows.h"

namespace hone {
namespace {

// Reads ranges of a file through a buffer: sequential ranges take few reads.
class Window {
 public:
  explicit Window(std::unique_ptr<Reader> file) : file_(std::move(file)) {}
  int64_t bytes() const { return file_->bytes(); }
  // The range must be inside the file. Valid until the next call.
  Result<const char*> at(int64_t offset, int64_t bytes) {
    if (offset < begin_ || offset + bytes > begin_ + static_cast<int64_t>(held_.size())) {
      held_.resize(static_cast<size_t>(std::max(bytes, std::min(kRead, file_->bytes() - offset))));
      begin_ = offset;
      if (Status read = file_->read(offset, std::as_writable_bytes(std::span(held_))); !read.ok()) {
        held_.clear();
        return std::move(read.error());
      }
    }
    return held_.data() + (offset - begin_);
  }

 private:
  static constexpr int64_t kRead = int64_t{1} << 20;
  std::unique_ptr<Reader> file_;
  int64_t begin_ = 0;
  std::string held_;
};

template <class T>
T number_at(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void copy_ids(const char* from, std::vector<int64_t>& to) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = number_at<T>(from + i * sizeof(T));
}

class MegatronReader final : public RowReader {
 public:
  MegatronReader(std::string name, std::string bin_name, std::unique_ptr<Reader> idx,
                 std::unique_ptr<Reader> bin, ReadLimits limits)
      : name_(std::move(name)),
        bin_name_(std::move(bin_name)),
        idx_(std::move(idx)),
        bin_(std::move(bin)),
        limits_(std::move(limits)) {}

  Status open() {
    const int64_t bytes = std::min(kMegatronHeaderBytes, idx_.bytes());
    const char* header = HONE_TRY(idx_.at(0, bytes));
    index_ =
        HONE_TRY(parse_megatron_header({header, static_cast<size_t>(bytes)}, idx_.bytes(), name_));
    const auto end = number_at<int64_t>(
        HONE_TRY(idx_.at(index_.documents_at() + 8 * (index_.documents - 1), 8)));
    if (end != index_.sequences)
      return bad_megatron(
          name_, fmt::format("its documents end at sequence {} of {}", end, index_.sequences));
    return Ok{};
  }

  const std::vector<std::string>& columns() const override { return columns_; }

  Result<bool> next(Row& row) override {
    if (limits_.stops && limits_.stops())
      return Error(err::kDataLimit, fmt::format("reading '{}' was stopped", name_))
          .todo("ask again");
    if (at_ >= index_.sequences) return false;
    const auto length = number_at<int32_t>(HONE_TRY(lengths_at(index_.lengths_at() + 4 * at_, 4)));
    const auto place = number_at<int64_t>(HONE_TRY(idx_.at(index_.places_at() + 8 * at_, 8)));
    const int64_t width = bytes_of(index_.type);
    if (length < 0 || place < 0 || place > bin_.bytes() || length > (bin_.bytes() - place) / width)
      return bad_megatron(bin_name_,
                          fmt::format("it has {} bytes, and {} ids of {} at byte {} are named",
                                      bin_.bytes(), length, name_of(index_.type), place))
          .at(fmt::format("{} row {}", name_, at_ + 1));
    if (length * width > limits_.row_bytes)
      return Error(err::kDataLimit, fmt::format("a row of '{}' has {} bytes; at most {} are read",
                                                name_, length * width, limits_.row_bytes))
          .at(fmt::format("{} row {}", name_, at_ + 1))
          .todo("split the row");
    std::vector<int64_t> ids(static_cast<size_t>(length));
    if (length > 0) copy(HONE_TRY(bin_.at(place, length * width)), ids);
    row.cells.assign(1, Cell(std::move(ids)));
    row.file = name_;
    row.line = ++at_;
    row.line_is_row = true;
    ++rows_;
    return true;
  }
  RowPosition position() const override { return {0, at_, 1, rows_}; }
  Status seek(const RowPosition& to) override {
    at_ = to.offset;
    rows_ = to.row;
    return Ok{};
  }

 private:
  // Lengths and places are far apart, so each has its own buffer.
  Result<const char*> lengths_at(int64_t offset, int64_t bytes) {
    if (offset < lengths_begin_ ||
        offset + bytes > lengths_begin_ + static_cast<int64_t>(lengths_.size())) {
      const int64_t end = index_.places_at();
      const char* from = HONE_TRY(idx_.at(offset, std::min(kLengthBytes, end - offset)));
      lengths_.assign(from, static_cast<size_t>(std::min(kLengthBytes, end - offset)));
      lengths_begin_ = offset;
    }
    return lengths_.data() + (offset - lengths_begin_);
  }

  void copy(const char* from, std::vector<int64_t>& ids) const {
    switch (index_.type) {
      case MegatronType::kUint8:
        return copy_ids<uint8_t>(from, ids);
      case MegatronType::kInt8:
        return copy_ids<int8_t>(from, ids);
      case MegatronType::kInt16:
        return copy_ids<int16_t>(from, ids);
      case MegatronType::kInt32:
        return copy_ids<int32_t>(from, ids);
      case MegatronType::kInt64:
        return copy_ids<int64_t>(from, ids);
      case MegatronType::kUint16:
        return copy_ids<uint16_t>(from, ids);
    }
  }

  static constexpr int64_t kLengthBytes = int64_t{1} << 16;
  std::string name_, bin_name_;
  Window idx_, bin_;
  ReadLimits limits_;
  MegatronIndex index_;
  std::vector<std::string> columns_ = {"input_ids"};
  std::string lengths_;
  int64_t lengths_begin_ = 0;
  int64_t at_ = 0, rows_ = 0;
};

Result<std::unique_ptr<RowReader>> open_megatron(std::unique_ptr<Source> source,
                                                 const RowOptions& options) {
  const std::string& name = source->name();
  const size_t dot = name.find_last_of('.');
  const std::string end = dot == std::string::npos ? "" : name.substr(dot);
  if (end != ".idx" && end != ".bin")
    return bad_megatron(name, "the names of a Megatron-LM data set end in .idx and .bin");
  if (source->path().empty() && !source->ranges())
    return bad_megatron(name, "an index is read together with its .bin, from a folder");
  const std::string stem = name.substr(0, dot);
  Store& store = file_store();
  for (const char* part : {".idx", ".bin"})
    if (!HONE_TRY(store.exists(stem + part)))
      return Error(err::kDataMissing, fmt::format("there is no data file '{}{}'", stem, part))
          .todo(fmt::format("a Megatron-LM data set is two files: put it beside '{}'", name));
  auto idx = HONE_TRY(store.open(stem + ".idx"));
  auto bin = HONE_TRY(store.open(stem + ".bin"));
  auto reader = std::make_unique<MegatronReader>(stem + ".idx", stem + ".bin", std::move(idx),
                                                 std::move(bin), options.limits);
  HONE_TRY(reader->open());
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace

Format format_megatron() {
  return {.name = "megatron",
          .extensions = {"idx", "bin"},
          .about = "Megatron-LM's token ids: an .idx and its .bin",
          .open = open_megatron,
          .is_never_packed = true};
}

}  // namespace hone
