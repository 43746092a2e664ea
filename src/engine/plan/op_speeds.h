// The speeds of a machine by kind of node. engine/session/calibrate.h measures them.
#pragma once

#include <map>
#include <string>

#include "base/core/json.h"
#include "engine/graph/op.h"

namespace hone {

// A node whose operands and results have at most kNearBytes bytes reads and writes caches. A node with kFarBytes or
// more reads and writes memory. Between the two, the time of a byte grows with the logarithm of the number of bytes.
inline constexpr double kNearBytes = 4 << 20, kFarBytes = 64 << 20;

// The speed of one kind of node, in seconds for each FLOP and each byte that the op's Cost counts.
struct KindSpeed {
  double flop_s = 0;
  double near_byte_s = 0, far_byte_s = 0;  // near: a byte in the caches; far: a byte in memory
  // The time of the cost's FLOPs plus the time of its bytes.
  double seconds(const Cost& cost) const;
};

class OpSpeeds {
 public:
  // The kind of a node: the op's name and the attributes that change its speed, such as "gelu", "attention.dropout" or
  // "matmul.nt.bf16". A letter for each operand of a matmul says if it is transposed (t) or not (n). A linear has the
  // kind of its matmul.
  static std::string kind_of(const NodeView& n);

  void set(const std::string& kind, KindSpeed speed) { of_[kind] = speed; }
  const KindSpeed* find(const std::string& kind) const;  // null: the kind is not measured
  bool empty() const { return of_.empty(); }

  // The time of a node. A kind that is not measured has the speed of a similar kind: for a product matmul.nn (or
  // matmul.nn.bf16), for any other node add. 0 if these kinds are not measured either.
  double seconds_of(const NodeView& n) const;

  // Writes {"gelu": [flop_s, near_byte_s, far_byte_s], ...}.
  OrderedJson json() const;
  // Reads the form that json() writes; entries that do not have it are ignored.
  static OpSpeeds from_json(const Json& j);

 private:
  std::map<std::string, KindSpeed, std::less<>> of_;
};

}  // namespace hone
