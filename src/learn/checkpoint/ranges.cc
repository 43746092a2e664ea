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
  std::vector<RowRange> columns;  // empty: all
};

std::optional<int64_t> number_in(std::string_view text) {
  int64_t n = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (wrong != std::errc() || end != text.data() + text.size() || n < 0) return {};
  return n;
}

// "first:end"
std::optional<RowRange> bounds_of(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == text.npos) return {};
  const auto begin = number_in(text.substr(0, colon)), end = number_in(text.substr(colon + 1));
  if (!begin || !end || *end <= *begin) return {};
  return RowRange{*begin, *end};
}

// The parts of a range's name; none for other names.
std::optional<RangeName> range_of(std::string_view name) {
  if (!name.ends_with(']')) return {};
  const size_t open = name.rfind('[');
  if (open == name.npos) return {};
  std::string_view list = name.substr(open + 1, name.size() - open - 2);
  const size_t comma = list.find(',');
  const auto rows = bounds_of(list.substr(0, comma));
  if (!rows) return {};
  RangeName range{std::string(name.substr(0, open)), *rows, {}};
  for (size_t at = comma; at != list.npos;) {
    const size_t next = list.find('+', at + 1);
    const auto columns = bounds_of(list.substr(at + 1, next == list.npos ? next : next - at - 1));
    if (!columns || (!range.columns.empty() && columns->begin < range.columns.back().end))
      return {};
    range.columns.push_back(*columns);
    at = next;
  }
  return range;
}

int64_t columns_in(const std::vector<RowRange>& columns) {
  int64_t n = 0;
  for (const RowRange& r : columns) n += r.count();
  return n;
}

// A piece of a tensor in one of the sources.
struct Piece {
  const WeightSource* source = nullptr;
  std::string name;
  int64_t first = 0,
          count = 0;  // elements of the whole tensor, from the first row of the piece to its last
  std::vector<RowRange> columns = {};  // of these rows; empty: all
  int64_t width = 1;                   // of a whole row
};

// The elements [from, to) of the whole tensor that are in some columns, to their places in `out`, which begins with
// element `first`.
Status read_columns(const Piece& piece, DType as, int64_t first, int64_t from, int64_t to,
                    std::span<std::byte> out) {
  const int64_t size = size_of(as), here = columns_in(piece.columns);
  const int64_t begin = (from - piece.first) / piece.width,
                end = (to - piece.first + piece.width - 1) / piece.width;
  std::vector<std::byte> rows(static_cast<size_t>((end - begin) * here * size));
  HONE_TRY(piece.source->read_range(piece.name, as, begin * here, rows));
  const std::byte* at = rows.data();
  for (int64_t row = begin; row < end; ++row)
    for (const RowRange& r : piece.columns) {
      const int64_t start = piece.first + row * piece.width;
      const int64_t some = std::max(from, start + r.begin), last = std::min(to, start + r.end);
      if (some < last)
        std::copy_n(at + (some - start - r.begin) * size, (last - some) * size,
                    out.data() + (some - first) * size);
      at += r.count() * size;
    }
  return Ok{};
}

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
      if (!piece.columns.empty()) {
        HONE_TRY(read_columns(piece, as, first, from, to, out));
        continue;
      }
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
    std::vector<RowRange> columns;
    const WeightSource* source = nullptr;
    const TensorInfo* info = nullptr;
  };

  Status add_all() {
    std::map<std::string, std::vector<Found>> ranges;
    for (const auto& source : sources_) {
      for (const auto& [key, value] : source->metadata()) metadata_[key] = value;
      for (const TensorInfo& info : source->tensors()) {
        if (const auto range = range_of(info.name)) {
          ranges[range->tensor].push_back({range->rows, range->columns, source.get(), &info});
          continue;
        }
        if (find(info.name) != nullptr) return wrong(info.name, "is there twice");
        add(info);
        pieces_.push_back({{source.get(), info.name, 0, info.type.count()}});
      }
    }
    for (auto& [name, found] : ranges)
      if (found.front().columns.empty())
        HONE_TRY(add_ranges(name, found));
      else
        HONE_TRY(add_columns(name, found));
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
      if (one.rows.begin != rows || !one.columns.empty())
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

  // Rows of which several ranks have columns.
  Status add_columns(const std::string& name, std::vector<Found>& found) {
    if (find(name) != nullptr) return wrong(name, "is there twice");
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
      return std::pair(a.rows.begin, first_column(a)) < std::pair(b.rows.begin, first_column(b));
    });
    TensorInfo whole = *found.front().info;
    if (whole.type.rank() != 2) return wrong(name, "has columns and is " + whole.type.text());
    whole.name = name;
    whole.bytes = 0;
    int64_t width = 0, rows = 0;
    for (const Found& one : found)
      if (!one.columns.empty()) width = std::max(width, one.columns.back().end);
    std::vector<Piece> pieces;
    for (size_t i = 0; i < found.size();) {
      const RowRange block = found[i].rows;
      if (block.begin != rows)
        return wrong(name,
                     fmt::format("lacks row {}, or has it twice", std::min(rows, block.begin)));
      std::vector<RowRange> columns;
      for (; i < found.size() && found[i].rows == block; ++i) {
        const Found& one = found[i];
        if (one.info->type != Type{whole.type.dtype, {block.count(), columns_in(one.columns)}})
          return wrong(name, fmt::format("has the rows {} to {} as {}", block.begin, block.end,
                                         one.info->type.text()));
        columns.insert(columns.end(), one.columns.begin(), one.columns.end());
        pieces.push_back({one.source, one.info->name, block.begin * width, block.count() * width,
                          one.columns, width});
        whole.bytes += one.info->bytes;
      }
      std::sort(columns.begin(), columns.end(),
                [](const RowRange& a, const RowRange& b) { return a.begin < b.begin; });
      int64_t column = 0;
      for (const RowRange& r : columns) {
        if (r.begin != column)
          return wrong(name,
                       fmt::format("lacks column {}, or has it twice", std::min(column, r.begin)));
        column = r.end;
      }
      if (column != width) return wrong(name, fmt::format("lacks column {}", column));
      rows = block.end;
    }
    whole.type.shape = {rows, width};
    add(std::move(whole));
    pieces_.push_back(std::move(pieces));
    return Ok{};
  }
  static int64_t first_column(const Found& f) { return f.columns.empty() ? 0 : f.columns[0].begin; }

  Error wrong(const std::string& name, const std::string& what) const {
    return Error(err::kShardIndexWrong, fmt::format("tensor '{}' {}", name, what))
        .todo("resume from an older checkpoint");
  }

  std::vector<std::unique_ptr<WeightSource>> sources_;
  std::vector<std::vector<Piece>> pieces_;  // by tensor
};

}  // namespace

std::string range_name(const std::string& tensor, const RowRange& rows,
                       const std::vector<RowRange>& columns) {
  std::string name = fmt::format("{}[{}:{}", tensor, rows.begin, rows.end);
  for (const RowRange& r : columns)
    name += fmt::format("{}{}:{}", &r == columns.data() ? ',' : '+', r.begin, r.end);
  return name + "]";
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
