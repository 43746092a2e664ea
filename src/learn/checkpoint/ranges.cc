#include "learn/checkpoint/ranges.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "learn/checkpoint/safetensors/errors.h"

namespace hone {
namespace {

struct RangeName {
  std::string tensor;
  RowRange rows;
};

std::optional<int64_t> number_in(std::string_view text) {
  int64_t n = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (wrong != std::errc() || end != text.data() + text.size() || n < 0) return {};
  return n;
}

// The parts of "<tensor>[first:end]"; none for other names.
std::optional<RangeName> range_of(std::string_view name) {
  if (!name.ends_with(']')) return {};
  const size_t open = name.rfind('['), colon = name.rfind(':');
  if (open == name.npos || colon == name.npos || colon < open) return {};
  const auto begin = number_in(name.substr(open + 1, colon - open - 1)),
             end = number_in(name.substr(colon + 1, name.size() - colon - 2));
  if (!begin || !end || *end <= *begin) return {};
  return RangeName{std::string(name.substr(0, open)), {*begin, *end}};
}

// A piece of a tensor in one of the sources.
struct Piece {
  const WeightSource* source = nullptr;
  std::string name;
  int64_t first = 0, count = 0;  // elements of the whole tensor
};

class JoinedRanges : public WeightSource {
 public:
  static Result<std::unique_ptr<WeightSource>> make(
      std::vector<std::unique_ptr<WeightSource>> sources) {
    auto joined = std::make_unique<JoinedRanges>();
    joined->sources_ = std::move(sources);
    HONE_TRY(joined->add_all());
    return std::unique_ptr<WeightSource>(std::move(joined));
  }

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    return read_elements_of(index, as, 0, out);
  }
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override {
    const int64_t size = size_of(as), end = first + static_cast<int64_t>(out.size()) / size;
    for (const Piece& piece : pieces_[index]) {
      const int64_t from = std::max(first, piece.first),
                    to = std::min(end, piece.first + piece.count);
      if (from >= to) continue;
      HONE_TRY(piece.source->read_range(piece.name, as, from - piece.first,
                                        out.subspan(static_cast<size_t>((from - first) * size),
                                                    static_cast<size_t>((to - from) * size))));
    }
    return Ok{};
  }
  Status read_blocks_of(size_t index, std::string_view part, int64_t first,
                        std::span<std::byte> out) const override {
    const Piece& piece = pieces_[index].front();
    return piece.source->read_blocks(piece.name, part, first, out);
  }

 private:
  struct Found {
    RowRange rows;
    const WeightSource* source = nullptr;
    const TensorInfo* info = nullptr;
  };

  Status add_all() {
    std::map<std::string, std::vector<Found>> ranges;
    for (const auto& source : sources_) {
      for (const auto& [key, value] : source->metadata()) metadata_[key] = value;
      for (const TensorInfo& info : source->tensors()) {
        if (const auto range = range_of(info.name)) {
          ranges[range->tensor].push_back({range->rows, source.get(), &info});
          continue;
        }
        if (find(info.name) != nullptr) return wrong(info.name, "is there twice");
        add(info);
        pieces_.push_back({{source.get(), info.name, 0, info.type.count()}});
      }
    }
    for (auto& [name, found] : ranges) HONE_TRY(add_ranges(name, found));
    return Ok{};
  }

  Status add_ranges(const std::string& name, std::vector<Found>& found) {
    if (find(name) != nullptr) return wrong(name, "is there twice");
    std::sort(found.begin(), found.end(),
              [](const Found& a, const Found& b) { return a.rows.begin < b.rows.begin; });
    TensorInfo whole = *found.front().info;
    whole.name = name;
    whole.bytes = 0;
    std::vector<Piece> pieces;
    int64_t rows = 0, elements = 0;
    for (const Found& one : found) {
      Type type = one.info->type;
      if (one.rows.begin != rows)
        return wrong(name,
                     fmt::format("lacks row {}, or has it twice", std::min(rows, one.rows.begin)));
      if (type.shape.empty() || type.shape[0] != one.rows.count() || type.dtype != whole.type.dtype)
        return wrong(name, fmt::format("has the rows {} to {} as {}", one.rows.begin, one.rows.end,
                                       type.text()));
      pieces.push_back({one.source, one.info->name, elements, type.count()});
      whole.bytes += one.info->bytes;
      elements += type.count();
      rows = one.rows.end;
    }
    whole.type.shape[0] = rows;
    add(std::move(whole));
    pieces_.push_back(std::move(pieces));
    return Ok{};
  }

  Error wrong(const std::string& name, const std::string& what) const {
    return Error(err::kShardIndexWrong, fmt::format("tensor '{}' {}", name, what))
        .todo("resume from an older checkpoint");
  }

  std::vector<std::unique_ptr<WeightSource>> sources_;
  std::vector<std::vector<Piece>> pieces_;  // by tensor
};

}  // namespace

std::string range_name(const std::string& tensor, const RowRange& rows) {
  return fmt::format("{}[{}:{}]", tensor, rows.begin, rows.end);
}

Result<std::unique_ptr<WeightSource>> join_ranges(
    std::vector<std::unique_ptr<WeightSource>> sources) {
  const auto has_ranges = [](const std::unique_ptr<WeightSource>& source) {
    return std::any_of(source->tensors().begin(), source->tensors().end(),
                       [](const TensorInfo& info) { return range_of(info.name).has_value(); });
  };
  if (sources.size() == 1 && !has_ranges(sources[0])) return std::move(sources[0]);
  return JoinedRanges::make(std::move(sources));
}

}  // namespace hone
