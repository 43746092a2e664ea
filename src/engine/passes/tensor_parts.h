// Internal to tensor_split: finds which elements of each value of a forward program this rank has.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/axis_parts.h"
#include "engine/graph/op.h"

namespace hone {

// The elements of a value that this rank has. The value's elements, in row-major order, are cut into groups of `period`
// elements; of each group the rank has the elements in `ranges`. Reshaping a value does not change its slab.
struct Slab {
  int64_t period = 1;
  std::vector<RowRange> ranges;
  // The number of elements of a group that the rank has.
  int64_t count() const { return AxisParts{0, period, ranges}.count(); }
  bool operator==(const Slab&) const = default;
};
// The shape of this rank's part of a value of shape `shape`: one dimension is smaller. nullopt: the elements are not a
// part of one dimension.
std::optional<Shape> part_shape(Shape shape, const Slab& s);

// Whether the op's name is one of `names`.
bool is_one_of(const Node& n, std::initializer_list<std::string_view> names);
// Whether element i of the result depends only on the elements i of those operands that have the result's shape.
bool is_elementwise(const Node& n);
bool is_attention(const Node& n);
// Whether the node is a matrix product with an optional bias.
bool is_linear_layer(const Node& n);
// Whether the node takes some columns of each head: a slice of axis 2 of a value of three dimensions.
bool is_slice_of_heads(const Program& p, const Node& n);
// Makes the error H1101 with the text `what`, at the node's scope.
Error undivided(const Node& n, std::string what);

inline size_t slot_at(ValueId v) { return static_cast<size_t>(v); }

struct TensorParts {
  const Program& p;
  Share share;
  std::vector<std::optional<Slab>> slabs = {};    // by value; nullopt: each rank has all elements
  std::vector<int32_t> parameter = {};            // by value: index of the parameter's state, or -1
  std::map<std::string, AxisParts> weights = {};  // by name: the weights with parts

  const std::optional<Slab>& slab(ValueId v) const { return slabs[slot_at(v)]; }
  // The state whose old version is v, if it is a parameter; else null.
  const State* parameter_of(ValueId v) const {
    const int32_t state = parameter[slot_at(v)];
    return state < 0 ? nullptr : &p.states[static_cast<size_t>(state)];
  }
  // Whether the value is a weight with parts.
  bool has_part(ValueId v) const {
    const State* s = parameter_of(v);
    return s != nullptr && weights.contains(s->name);
  }
  // The elements of this rank if `count` blocks of `each` elements, from element `begin` on, are divided among the
  // ranks.
  RowRange own(int64_t count, int64_t each = 1, int64_t begin = 0) const;
  // The elements of operand k that the node reads to compute this rank's part of its result; nullopt: all elements.
  std::optional<Slab> slab_of_operand(const Node& n, size_t k) const;

 private:
  Slab queries_of(const Node& attention) const;
};

// Finds the parts of a program. `asked`: only these weights may have parts; null: all may. The result is valid until
// the program's states or values are renumbered. H1101: heads or widths of a layer cannot be divided among the ranks.
Result<TensorParts> find_tensor_parts(Program& program, const Share& share,
                                      const std::map<std::string, AxisParts>* asked);

}  // namespace hone
