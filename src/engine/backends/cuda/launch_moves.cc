// Launches that move values and compute nothing: copies, slices, transposes, rows by index.
#include <bit>

#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {

Launch copy_if_apart(const NodeView& n, size_t i, size_t k) {
  const Type& t = n.in(i);
  Strided same;
  same.rank = 1;
  same.size[0] = t.count();
  same.stride[0] = 1;
  Launch copy(kernel_of_size("move", t.dtype));
  copy.in(i).out(k).value(t.count()).value(same).over(t.count());
  copy.only_apart = true;
  return copy;
}

Result<Launches> gather_rows(const NodeView& n) {
  const Type& t = n.out(0);
  const int64_t rows = n.in(0).shape[0], columns = rows == 0 ? 0 : n.in(0).count() / rows;
  Launch l(kernel_of_size("gather_rows", t.dtype));
  l.in(0).in(1).out(0).value(t.count()).value(std::max<int64_t>(columns, 1)).over(t.count());
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
  Launch l(kernel_of_size("move", t.dtype));
  l.in(0).out(0).value(t.count()).value(from).over(t.count());
  return one(std::move(l));
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
    const int64_t columns = n.in(i).shape[axis] * inner, count = n.in(i).count();
    if (count > 0) {
      Launch l(kernel_of_size("place", t.dtype));
      l.in(i).out(0, first * size_of(t.dtype)).value(count).value(columns);
      l.value(t.shape[axis] * inner).over(count);
      all.launches.push_back(std::move(l));
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
  l.over(t.count());
  return one(std::move(l));
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
  t["constant"] = constant;
  t["iota"] = iota;
}

}  // namespace hone::cuda
