// Internal to tensor_split: decides which elements of each value of a forward program are on a rank.
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

// The elements of a value on this rank: those in `ranges` of each `period` elements, one after another. A reshape
// keeps it.
struct Slab {
  int64_t period = 1;
  std::vector<RowRange> ranges;
  int64_t count() const { return AxisParts{0, period, ranges}.count(); }
  bool operator==(const Slab&) const = default;
};
// The shape of the part, or nullopt: it is not a box.
std::optional<Shape> part_shape(Shape shape, const Slab& s);

bool is_one_of(const Node& n, std::initializer_list<std::string_view> names);
// Element i of the result is a function of the elements i of the operands of its shape.
bool is_elementwise(const Node& n);
bool is_attention(const Node& n);
bool is_linear_layer(const Node& n);
// Some columns of each head.
bool is_slice_of_heads(const Program& p, const Node& n);
// H1101 at the node.
Error undivided(const Node& n, std::string what);

inline size_t slot_at(ValueId v) { return static_cast<size_t>(v); }

struct TensorParts {
  const Program& p;
  Share share;
  std::vector<std::optional<Slab>> slabs = {};    // by value: of those in parts
  std::vector<int32_t> parameter = {};            // by value: the state, or -1
  std::map<std::string, AxisParts> weights = {};  // by name

  const std::optional<Slab>& slab(ValueId v) const { return slabs[slot_at(v)]; }
  const State* parameter_of(ValueId v) const {
    const int32_t state = parameter[slot_at(v)];
    return state < 0 ? nullptr : &p.states[static_cast<size_t>(state)];
  }
  // Whether the value is a weight with parts.
  bool has_part(ValueId v) const {
    const State* s = parameter_of(v);
    return s != nullptr && weights.contains(s->name);
  }
  // This rank's part of `count` things of `each` elements.
  RowRange own(int64_t count, int64_t each = 1, int64_t begin = 0) const;
  // The part of an operand that a node with a part of a result reads; nullopt: all of it.
  std::optional<Slab> slab_of_operand(const Node& n, size_t k) const;

 private:
  Slab queries_of(const Node& attention) const;
};

// `asked`: the only weights with parts; null: any. The parts hold until the program's states or values change their
// numbers. H1101.
Result<TensorParts> find_tensor_parts(Program& program, const Share& share,
                                      const std::map<std::string, AxisParts>* asked);

}  // namespace hone
