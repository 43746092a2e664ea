// Runs a program node by node, with a buffer for each value: slow and with checks, for tests and to replay a failing
// program. Each buffer has guard bytes on both sides, new buffers are filled with 0xff (NaN, -1), and operands must not
// change. A kernel that breaks a rule is reported by name. If the backend compiles whole programs and has no
// kernels, the program runs through its Executable, without these checks.
#pragma once

#include "engine/device/backend.h"

namespace hone {

// A tensor in memory of its own.
struct Tensor {
  Type type;
  std::vector<uint8_t> bytes;

  Tensor() = default;
  explicit Tensor(Type t) : type(std::move(t)), bytes(static_cast<size_t>(type.bytes())) {}
  // Converts the values to the type; a wrong number of values is a Bug.
  static Tensor of(Type t, const std::vector<double>& values);
  // The elements as doubles; i64 beyond 2^53 loses bits.
  std::vector<double> numbers() const;
};

using Tensors = std::map<std::string, Tensor, std::less<>>;

struct InterpretOptions {
  bool in_place = false;  // write results over inplace_inputs() that no later node reads
};

struct Outcome {
  Tensors outputs;  // by name
  // By name: the state's new version; if there is none, the old version.
  Tensors states;
  std::vector<std::string> broken;  // a text for each guard or operand that a kernel changed
};

// Lowers the program and runs it. `given` has all inputs and states, by name. H1401 (kDeclined): the backend declines a
// primitive. H1203 (kOperands): a tensor is not given or has a wrong type.
Result<Outcome> interpret(const Program& program, const Backend& backend, const Tensors& given,
                          const InterpretOptions& options = {});

}  // namespace hone
