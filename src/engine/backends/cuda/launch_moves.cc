// Launches that move values and compute nothing: copies, slices, transposes, rows by index.
#include <bit>
#include <numeric>

#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {

namespace {

// The same place of fewer dimensions: one for those that follow each other.
Strided merged(const Strided& s) {
  Strided m;
  m.first = s.first;
  for (int d = 0; d < s.rank; ++d) {
    if (s.size[d] == 1) continue;
    const int last = m.rank - 1;
    if (last >= 0 && m.stride[last] == s.stride[d] * s.size[d]) {
      m.size[last] *= s.size[d];
      m.stride[last] = s.stride[d];
      continue;
    }
    m.size[m.rank] = s.size[d];
    m.stride[m.rank++] = s.stride[d];
  }
  return m;
}

// A move of `count` elements of `bytes` each, by pieces of up to 16 bytes where the innermost dimension allows.
Launch move_launch(int64_t count, int64_t bytes, const Strided& given) {
  Strided s = merged(given);
  const auto is_even = [&] {
    if (s.rank == 0 || s.stride[s.rank - 1] != 1 || s.size[s.rank - 1] % 2 != 0) return false;
    for (int d = 0; d + 1 < s.rank; ++d)
      if (s.stride[d] % 2 != 0) return false;
    return s.first % 2 == 0;
  };
  for (; bytes < 16 && is_even(); bytes *= 2, count /= 2) {
    s.size[s.rank - 1] /= 2;
    for (int d = 0; d + 1 < s.rank; ++d) s.stride[d] /= 2;
    s.first /= 2;
  }
  Launch l(fmt::format("move_{}", bytes));
  l.value(count).value(s).over(count);
  return l;
}
// Puts operand and result before the other arguments.
Launch moves(Launch l, LaunchArgument from, LaunchArgument to) {
  l.arguments.insert(l.arguments.begin(), {std::move(from), std::move(to)});
  return l;
}

// Rows of `columns` elements of `bytes` each, as few large ones: "gather_rows_16".
struct RowPieces {
  int64_t columns, bytes;
  RowPieces(int64_t columns, int64_t bytes) : columns(columns), bytes(bytes) {
    for (; this->bytes < 16 && this->columns % 2 == 0; this->bytes *= 2) this->columns /= 2;
  }
  Launch launch(const char* kernel) const { return Launch(fmt::format("{}_{}", kernel, bytes)); }
};

}  // namespace

Launch copy_if_apart(const NodeView& n, size_t i, size_t k) {
  const Type& t = n.in(i);
  Strided same;
  same.rank = 1;
  same.size[0] = t.count();
  same.stride[0] = 1;
  Launch copy = moves(move_launch(t.count(), size_of(t.dtype), same), LaunchArgument::input(i),
                      LaunchArgument::output(k));
  copy.only_apart = true;
  return copy;
}

Result<Launches> gather_rows(const NodeView& n) {
  const Type& t = n.out(0);
  const int64_t rows = n.in(0).shape[0], columns = rows == 0 ? 0 : n.in(0).count() / rows;
  const RowPieces p(std::max<int64_t>(columns, 1), size_of(t.dtype));
  const int64_t count = t.bytes() / p.bytes;
  Launch l = p.launch("gather_rows");
  l.in(0).in(1).out(0).value(count).value(p.columns).over(count);
  return one(std::move(l));
}

namespace {

// out[i] = in[place of i in the result's shape with these strides].
Result<Launches> move(const NodeView& n, const std::vector<int64_t>& stride, int64_t first) {
  const Type& t = n.out(0);
  if (t.rank() > 8) return no_kernel(n, "more than eight dimensions");
  Strided from;
  from.rank = static_cast<int>(t.rank());
  from.first = first;
  for (size_t d = 0; d < stride.size(); ++d) {
    from.size[d] = t.shape[d];
    from.stride[d] = stride[d];
  }
  return one(moves(move_launch(t.count(), size_of(t.dtype), from), LaunchArgument::input(0),
                   LaunchArgument::output(0)));
}

Result<Launches> broadcast(const NodeView& n) {
  std::vector<int64_t> stride(n.out(0).shape.size(), 0);
  const std::vector<int64_t> own = strides_of(n.in(0).shape);
  const std::vector<int64_t>& axes = n.integers("axes");
  for (size_t i = 0; i < axes.size(); ++i) stride[static_cast<size_t>(axes[i])] = own[i];
  return move(n, stride, 0);
}

Result<Launches> transpose(const NodeView& n) {
  const std::vector<int64_t> own = strides_of(n.in(0).shape);
  std::vector<int64_t> stride;
  for (const int64_t d : n.integers("permutation")) stride.push_back(own[static_cast<size_t>(d)]);
  return move(n, stride, 0);
}

Result<Launches> slice(const NodeView& n) {
  const std::vector<int64_t> own = strides_of(n.in(0).shape);
  return move(n, own, n.integer("begin") * own[static_cast<size_t>(n.integer("axis"))]);
}

Result<Launches> reshape(const NodeView& n) { return move(n, strides_of(n.out(0).shape), 0); }

// Each part's rows into those of the result.
Result<Launches> concat(const NodeView& n) {
  const Type& t = n.out(0);
  const auto axis = static_cast<size_t>(n.integer("axis"));
  int64_t inner = 1;
  for (size_t d = axis + 1; d < t.shape.size(); ++d) inner *= t.shape[d];
  Launches all;
  int64_t first = 0;
  for (size_t i = 0; i < n.inputs(); ++i) {
    const int64_t columns = n.in(i).shape[axis] * inner;
    if (n.in(i).count() > 0) {
      // Pieces that fill the part's rows and those of the result, and begin at one of them.
      const int64_t bytes = size_of(t.dtype), row = t.shape[axis] * inner;
      const RowPieces p(std::gcd(std::gcd(columns, row), first), bytes);
      const int64_t each = p.bytes / bytes, count = n.in(i).count() / each;
      Launch l = p.launch("place");
      l.in(i).out(0, first * bytes).value(count).value(columns / each).value(row / each);
      all.launches.push_back(std::move(l.over(count)));
    }
    first += columns;
  }
  return all;
}

Result<Launches> constant(const NodeView& n) {
  const Type& t = n.out(0);
  const double v = n.real("value");
  Launch l(kernel_of_size("fill", t.dtype));
  l.out(0).value(t.count());
  switch (t.dtype) {
    case DType::f64:
      l.value(std::bit_cast<uint64_t>(v));
      break;
    case DType::f32:
      l.value(std::bit_cast<uint32_t>(static_cast<float>(v)));
      break;
    case DType::bf16:
      l.value(f32_to_bf16(static_cast<float>(v)));
      break;
    case DType::f16:
      l.value(f32_to_f16(static_cast<float>(v)));
      break;
    case DType::i64:
      l.value(static_cast<uint64_t>(static_cast<int64_t>(v)));
      break;
    case DType::i32:
      l.value(static_cast<uint32_t>(static_cast<int32_t>(v)));
      break;
    case DType::i8:
      l.value(static_cast<uint8_t>(static_cast<int8_t>(v)));
      break;
    case DType::u8:
      l.value(static_cast<uint8_t>(v));
      break;
    case DType::boolean:
      l.value(static_cast<uint8_t>(v != 0));
      break;
  }
  l.mapped(t.count());
  return one(std::move(l));
}

// Rows of x go to those of the cache; the others stay.
Result<Launches> cache_write(const NodeView& n) {
  const Type& x = n.in(1);
  Launches all = one(copy_if_apart(n, 0, 0));
  if (x.count() == 0) return all;
  const RowPieces p(x.shape[1], size_of(x.dtype));
  const int64_t count = x.bytes() / p.bytes;
  Launch l = p.launch("put_rows");
  l.in(1).in(2).out(0).value(count).value(p.columns).over(count);
  all.launches.push_back(std::move(l));
  return all;
}

Result<Launches> iota(const NodeView& n) {
  const Type& t = n.out(0);
  if (!is_float(t.dtype) && !is_one_of(t.dtype, {DType::i64, DType::i32}))
    return no_kernel(n, fmt::format("not for {}", name_of(t.dtype)));
  const auto axis = static_cast<size_t>(n.integer("axis"));
  Launch l(kernel_of("iota", t.dtype));
  l.out(0).value(t.count()).value(strides_of(t.shape)[axis]).value(t.shape[axis]);
  l.over(t.count());
  return one(std::move(l));
}

}  // namespace

void add_moves(LaunchTable& t) {
  t["reshape"] = reshape;
  t["broadcast"] = broadcast;
  t["slice"] = slice;
  t["transpose"] = transpose;
  t["concat"] = concat;
  t["gather_rows"] = gather_rows;
  t["cache_write"] = cache_write;
  t["constant"] = constant;
  t["iota"] = iota;
}

}  // namespace hone::cuda
