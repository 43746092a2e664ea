// Runs a program node by node, each value in a buffer of its own: slow and careful, for tests and
// for replaying a failing program. Every buffer has guard bytes on both sides, new buffers are
// filled with 0xff (NaN, -1), and operands must not change: a kernel that breaks a rule is reported
// by name. A backend that has no kernels runs the program whole, through its executable.
#pragma once

#include "engine/device/backend.h"

namespace hone {

// A value outside of any plan.
struct Tensor {
  Type type;
  std::vector<uint8_t> bytes;

  Tensor() = default;
  explicit Tensor(Type t) : type(std::move(t)), bytes(static_cast<size_t>(type.bytes())) {}
  // Elements converted to and from double (i64 beyond 2^53 loses bits).
  static Tensor of(Type t, const std::vector<double>& values);
  std::vector<double> numbers() const;
};

using Tensors = std::map<std::string, Tensor, std::less<>>;

struct InterpretOptions {
  bool in_place = false;  // write results over the dying operands of inplace_inputs
};

struct Outcome {
  Tensors outputs;                  // by name
  Tensors states;                   // by name: the new version, or else the old one
  std::vector<std::string> broken;  // guard bytes or operands that a kernel changed
};

// `given` holds every input and state by name. Lowers first. Errors: kDeclined, a missing or
// wrongly typed tensor (kOperands).
Result<Outcome> interpret(const Program& program, const Backend& backend, const Tensors& given,
                          const InterpretOptions& options = {});

}  // namespace hone
