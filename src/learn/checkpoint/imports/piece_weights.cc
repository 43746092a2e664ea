#include "learn/checkpoint/imports/piece_weights.h"

#include <algorithm>
#include <cstring>

namespace hone {
namespace {

constexpr int64_t kPieceChunk = int64_t{1}
                                << 20;  // elements that are read at once and then put in place
constexpr size_t kMostBoxes = 4096;     // that are compared with each other

// A box as runs: its last dimensions are whole, so that `run` elements are side by side in the tensor.
struct Runs {
  explicit Runs(const TensorPiece& p) {
    size_t whole = p.sizes.size();  // dimensions from here on are whole
    while (whole > 0 && p.sizes[whole - 1] == p.whole[whole - 1]) --whole;
    int64_t stride = 1;
    for (size_t d = p.sizes.size(); d-- > whole;) stride *= p.whole[d];
    if (whole > 0) {
      --whole;
      run = p.sizes[whole] * stride;
      begin = p.offset[whole] * stride;
      stride *= p.whole[whole];
    } else {
      run = stride;
    }
    for (size_t d = whole; d-- > 0;) {
      begin += p.offset[d] * stride;
      sizes.insert(sizes.begin(), p.sizes[d]);
      strides.insert(strides.begin(), stride);
      stride *= p.whole[d];
    }
    count = p.count();
  }

  // The place in the tensor of the piece's element number i.
  int64_t place(int64_t i) const {
    int64_t at = begin + i % run, left = i / run;
    for (size_t d = sizes.size(); d-- > 0;) {
      at += left % sizes[d] * strides[d];
      left /= sizes[d];
    }
    return at;
  }
  // The number of the piece's elements before that place. Places grow with the number.
  int64_t before(int64_t at) const {
    int64_t low = 0, high = count;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (place(middle) < at)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  int64_t begin = 0, run = 1, count = 0;
  Shape sizes, strides;  // of the dimensions before the runs
};

// Reads the elements [first, first + out) of the tensor that are in the piece.
Status read_piece(const TensorPiece& piece, DType as, int64_t first, std::span<std::byte> out) {
  const Runs runs(piece);
  if (runs.count == 0) return Ok{};
  const int64_t size = size_of(as), end = first + static_cast<int64_t>(out.size()) / size;
  const int64_t from = runs.before(first), to = runs.before(end);
  if (from == to) return Ok{};
  const auto bytes = [&](int64_t at, int64_t n) {
    return out.subspan(static_cast<size_t>((at - first) * size), static_cast<size_t>(n * size));
  };
  if (runs.place(to - 1) - runs.place(from) == to - 1 - from)
    return piece.source->read_range(piece.name, as, piece.first + from,
                                    bytes(runs.place(from), to - from));
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(kPieceChunk, to - from) * size));
  for (int64_t i = from; i < to; i += kPieceChunk) {
    const int64_t n = std::min(kPieceChunk, to - i);
    const std::span<std::byte> read = std::span(chunk).first(static_cast<size_t>(n * size));
    HONE_TRY(piece.source->read_range(piece.name, as, piece.first + i, read));
    for (int64_t k = 0; k < n;) {
      const int64_t together = std::min(n - k, runs.run - (i + k) % runs.run);
      std::memcpy(bytes(runs.place(i + k), together).data(), read.data() + k * size,
                  static_cast<size_t>(together * size));
      k += together;
    }
  }
  return Ok{};
}

bool is_flat(const TensorPiece& p) { return Runs(p).sizes.empty(); }

bool overlap(const TensorPiece& a, const TensorPiece& b) {
  for (size_t d = 0; d < a.sizes.size(); ++d)
    if (a.offset[d] + a.sizes[d] <= b.offset[d] || b.offset[d] + b.sizes[d] <= a.offset[d])
      return false;
  return true;
}

// "": each piece is within its shape, which is the tensor's or the number of its elements.
std::string fault_of_shape(const Shape& shape, const TensorPiece& p) {
  const int64_t elements = Type{DType::u8, shape}.count();
  if (p.whole != shape && p.whole != Shape{elements})
    return fmt::format("has a part of a tensor of shape {}", text_of(p.whole));
  bool fits = p.offset.size() == p.whole.size() && p.sizes.size() == p.whole.size();
  for (size_t d = 0; fits && d < p.whole.size(); ++d)
    fits = p.offset[d] >= 0 && p.sizes[d] >= 0 && p.offset[d] <= p.whole[d] &&
           p.sizes[d] <= p.whole[d] - p.offset[d];
  if (!fits)
    return fmt::format("has a part of shape {} at {}", text_of(p.sizes), text_of(p.offset));
  const TensorInfo* holder = p.source->find(p.name);
  if (holder == nullptr || p.first < 0 || p.first > holder->type.count() ||
      p.count() > holder->type.count() - p.first)
    return fmt::format("has a part beyond the end of '{}'", p.name);
  return "";
}

}  // namespace

TensorPiece flat_piece(const WeightSource& source, std::string name, int64_t first,
                       int64_t elements, int64_t begin, int64_t count) {
  return {&source, std::move(name), first, {elements}, {begin}, {count}};
}

std::string fault_of_pieces(const Shape& shape, const std::vector<TensorPiece>& pieces) {
  int64_t held = 0;
  const int64_t elements = Type{DType::u8, shape}.count();
  std::vector<const TensorPiece*> order;
  for (const TensorPiece& p : pieces) {
    if (std::string fault = fault_of_shape(shape, p); !fault.empty()) return fault;
    if (p.count() == 0) continue;
    if (p.count() > elements - held) return "has an element twice";
    held += p.count();
    order.push_back(&p);
  }
  if (held < elements)
    return fmt::format("lacks {} of its {} elements: is a file missing?", elements - held,
                       elements);
  if (std::all_of(order.begin(), order.end(), [](const TensorPiece* p) { return is_flat(*p); })) {
    std::sort(order.begin(), order.end(), [](const TensorPiece* a, const TensorPiece* b) {
      return Runs(*a).begin < Runs(*b).begin;
    });
    int64_t at = 0;
    for (const TensorPiece* p : order) {
      if (Runs(*p).begin != at) return "has an element twice";
      at += p->count();
    }
    return "";
  }
  if (order.size() > kMostBoxes)
    return fmt::format("is cut into {} boxes, {} is the most", order.size(), kMostBoxes);
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (order[i]->whole != order[k]->whole || overlap(*order[i], *order[k]))
        return "has an element twice";
  return "";
}

const WeightSource* PieceWeights::hold(std::shared_ptr<const WeightSource> source) {
  sources_.push_back(std::move(source));
  return sources_.back().get();
}

void PieceWeights::add_pieces(TensorInfo info, std::vector<TensorPiece> pieces) {
  add(std::move(info));
  pieces_.push_back(std::move(pieces));
}

void PieceWeights::add_whole(std::string name, const WeightSource& source,
                             const TensorInfo& tensor) {
  TensorInfo info = tensor;
  info.name = std::move(name);
  const int64_t count = info.type.count();
  add_pieces(std::move(info), {flat_piece(source, tensor.name, 0, count, 0, count)});
}

Status PieceWeights::read_tensor(size_t index, DType as, std::span<std::byte> out) const {
  return read_elements_of(index, as, 0, out);
}

Status PieceWeights::read_elements_of(size_t index, DType as, int64_t first,
                                      std::span<std::byte> out) const {
  for (const TensorPiece& piece : pieces_[index]) HONE_TRY(read_piece(piece, as, first, out));
  return Ok{};
}

}  // namespace hone
