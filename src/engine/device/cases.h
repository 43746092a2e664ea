// Reads the files tests/ops/*.case: shapes, attributes and operands of an op. Format:
// tests/ops/README.md.
#pragma once

#include "engine/device/interpret.h"

namespace hone {

struct CaseInput {
  bool absent = false;
  Type type;
  std::string kind;             // normal uniform ids labels list count distinct bits blocks powers
  std::vector<double> numbers;  // the kind's arguments
  // If given, the operand is this op's result, with the case's attributes, of operand numbers[0].
  const Op* op = nullptr;
};

struct OpCase {
  std::string op, place;  // place: "linear.case:7"
  Attrs attrs;
  std::vector<CaseInput> inputs;
  double tolerance = 1e-5;     // of a kernel, relative to each output's largest magnitude
  double gradient = 1e-6;      // of the gradient against finite differences in f64; 0: not checked
  std::vector<int64_t> fixed;  // floating-point operands without a gradient by design
};

// Every case of every file of the folder, in the order of names. Errors (kBadProgramText) have
// file:line.
Result<std::vector<OpCase>> read_cases(const std::string& folder, const OpTable& ops);
Result<std::vector<OpCase>> parse_cases(std::string_view text, const OpTable& ops,
                                        const std::string& file);

// The operands named "0", "1", ..., deterministic for each case; absent ones and results of ops are
// left out.
Tensors make_operands(const OpCase& c);
// Deterministic values of one operand.
Tensor make_operand(const CaseInput& in, uint64_t seed);

}  // namespace hone
