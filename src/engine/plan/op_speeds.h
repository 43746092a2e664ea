// Speeds of a machine by kind of node, as measured by engine/session/calibrate.h.
#pragma once

#include <map>
#include <string>

#include "base/core/json.h"
#include "engine/graph/op.h"

namespace hone {

// Operands and results of at most kNearBytes are in the caches, those of kFarBytes and more in
// memory; between them a byte's time grows with the logarithm of their number.
inline constexpr double kNearBytes = 4 << 20, kFarBytes = 64 << 20;

// Seconds of a FLOP and of a byte, as the op counts them (Cost), of one kind of node: both add up.
struct KindSpeed {
  double flop_s = 0;
  double near_byte_s = 0, far_byte_s = 0;
  double seconds(const Cost& cost) const;
};

class OpSpeeds {
 public:
  // "matmul.nt.bf16", "attention.dropout", "gelu": the op and what changes its speed. A linear is
  // the matmul of its product.
  static std::string kind_of(const NodeView& n);

  void set(const std::string& kind, KindSpeed speed) { of_[kind] = speed; }
  const KindSpeed* find(const std::string& kind) const;
  bool empty() const { return of_.empty(); }

  // Unmeasured kinds take the time of similar ones: a product the time of a matmul, all others the
  // time of an add of as many bytes. 0 if these are not measured either.
  double seconds_of(const NodeView& n) const;

  // {"gelu": [flop_s, near_byte_s, far_byte_s], ...}; entries of another form are left out.
  OrderedJson json() const;
  static OpSpeeds from_json(const Json& j);

 private:
  std::map<std::string, KindSpeed, std::less<>> of_;
};

}  // namespace hone
