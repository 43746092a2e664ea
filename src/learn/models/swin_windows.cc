#include "learn/models/swin_windows.h"

namespace hone {
namespace {

constexpr double kApart = -100;  // added to scores; Transformers and timm add the same

// Whole numbers by their place in a shape.
struct Places {
  Builder& b;
  Shape shape;

  ValueId number(int64_t v) const {
    return ops::constant(b, static_cast<double>(v), {DType::i32, {}});
  }
  ValueId along(int64_t axis, int64_t times = 1) const {
    const ValueId i = ops::iota(b, {DType::i32, shape}, axis);
    return times == 1 ? i : ops::mul(b, i, number(times));
  }
  ValueId sum(ValueId x, ValueId y) const { return ops::add(b, x, y); }
  // x + n, minus `count` where this is not below it.
  ValueId turned(ValueId x, int64_t n, int64_t count) const {
    if (n == 0) return x;
    const ValueId moved = ops::add(b, x, number(n));
    return ops::select(b, ops::compare(b, moved, number(count), "ge"),
                       ops::sub(b, moved, number(count)), moved);
  }
  ValueId is_below(ValueId x, int64_t count) const {
    return ops::compare(b, x, number(count), "lt");
  }
  // `ids` where row and column are in the image, else -1; flat.
  ValueId inside(ValueId ids, ValueId row, int64_t rows, ValueId column, int64_t columns) const {
    const ValueId is_inside = ops::minimum(b, is_below(row, rows), is_below(column, columns));
    return ops::reshape(b, ops::select(b, is_inside, ids, number(-1)), {b.type(ids).count()});
  }
};

}  // namespace

ValueId window_tokens(Builder& b, const WindowGrid& grid) {
  const Places at{b, {grid.images, grid.down(), grid.across(), grid.height, grid.width}};
  const ValueId row = at.sum(at.along(1, grid.height), at.along(3)),
                column = at.sum(at.along(2, grid.width), at.along(4));
  const int64_t rows = grid.fills_first ? grid.down() * grid.height : grid.rows,
                columns = grid.fills_first ? grid.across() * grid.width : grid.columns;
  const ValueId from_row = at.turned(row, grid.shift_rows, rows),
                from_column = at.turned(column, grid.shift_columns, columns);
  const ValueId ids = at.sum(at.along(0, grid.rows * grid.columns),
                             at.sum(ops::mul(b, from_row, at.number(grid.columns)), from_column));
  return grid.fills_first ? at.inside(ids, from_row, grid.rows, from_column, grid.columns)
                          : at.inside(ids, row, grid.rows, column, grid.columns);
}

ValueId relative_rows(Builder& b, int64_t height, int64_t width) {
  const Places at{b, {height, width, height, width}};
  const ValueId down = ops::sub(b, at.along(0), at.along(2)),
                across = ops::sub(b, at.along(1), at.along(3));
  const ValueId row =
      ops::mul(b, ops::add(b, down, at.number(height - 1)), at.number(2 * width - 1));
  const ValueId all = at.sum(row, ops::add(b, across, at.number(width - 1)));
  return ops::reshape(b, all, {b.type(all).count()});
}

ValueId window_mask(Builder& b, const WindowGrid& grid) {
  const Places at{b, {grid.down(), grid.across(), grid.height, grid.width}};
  // 0, 1 or 2: before the last window, in it, in the part of it that comes from the other end.
  const auto part = [&](ValueId x, int64_t count, int64_t window, int64_t shift) {
    const auto from = [&](int64_t first) {
      return ops::cast(b, ops::compare(b, x, at.number(count - first), "ge"), DType::i32);
    };
    return at.sum(from(window), from(shift));
  };
  const ValueId row = at.sum(at.along(0, grid.height), at.along(2)),
                column = at.sum(at.along(1, grid.width), at.along(3));
  const ValueId of_row = part(row, grid.down() * grid.height, grid.height, grid.shift_rows);
  const ValueId of_column =
      part(column, grid.across() * grid.width, grid.width, grid.shift_columns);
  const int64_t n = grid.windows(), m = grid.places();
  const ValueId region =
      ops::reshape(b, at.sum(ops::mul(b, of_row, at.number(3)), of_column), {n, m});
  const ValueId same = ops::compare(b, ops::broadcast(b, region, {n, m, m}, {0, 1}),
                                    ops::broadcast(b, region, {n, m, m}, {0, 2}), "eq");
  const auto real = [&](double v) { return ops::constant(b, v, {DType::f32, {}}); };
  return ops::select(b, same, real(0), real(kApart));
}

ValueId merged_tokens(Builder& b, int64_t images, int64_t rows, int64_t columns) {
  const Places at{b, {images, (rows + 1) / 2, (columns + 1) / 2, 2, 2}};
  const ValueId row = at.sum(at.along(1, 2), at.along(4)),
                column = at.sum(at.along(2, 2), at.along(3));
  const ValueId ids =
      at.sum(at.along(0, rows * columns), at.sum(ops::mul(b, row, at.number(columns)), column));
  return at.inside(ids, row, rows, column, columns);
}

}  // namespace hone
