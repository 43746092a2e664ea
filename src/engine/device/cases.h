// Reads the files tests/ops/*.case, which have test cases of ops: attributes, and types and values of operands. The
// format is described in tests/ops/README.md.
#pragma once

#include "engine/device/interpret.h"

namespace hone {

// An operand of a case.
struct CaseInput {
  bool absent = false;
  Type type;
  // The way in which its values are made (tests/ops/README.md): "normal", "uniform", "ids", "labels", "list", "count",
  // "distinct", "bits", "blocks" or "powers".
  std::string kind;
  std::vector<double> numbers;  // the arguments of `kind`
  // If not null: the operand is the result of this op, applied to operand numbers[0] with the case's attributes.
  const Op* op = nullptr;
};

struct OpCase {
  std::string op, place;  // place: "linear.case:7"
  Attrs attrs;
  std::vector<CaseInput> inputs;
  // The allowed error of a kernel, relative to the largest magnitude of the output.
  double tolerance = 1e-5;
  // The allowed difference of the gradient from finite differences in f64, relative to the gradient's largest
  // magnitude. 0: the gradient is not checked.
  double gradient = 1e-6;
  std::vector<int64_t> fixed;  // indices of float operands that have no gradient by design
};

// Reads all cases of all *.case files of the folder, files in the order of their names. H1002 (kBadProgramText): a line
// is wrong, at file:line, or the folder has no such file.
Result<std::vector<OpCase>> read_cases(const std::string& folder, const OpTable& ops);
// The cases of one file, whose name `file` is used in errors. H1002 as above.
Result<std::vector<OpCase>> parse_cases(std::string_view text, const OpTable& ops,
                                        const std::string& file);

// Makes the operands, by name "0", "1", .... A case always gets the same values. Absent operands and results of ops are
// left out.
Tensors make_operands(const OpCase& c);
// Makes the values of one operand; the same seed gives the same values.
Tensor make_operand(const CaseInput& in, uint64_t seed);

}  // namespace hone
