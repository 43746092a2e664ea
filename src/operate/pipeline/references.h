// References in a step's texts:
//   ${out}                    the step's own folder for its files
//   ${steps.train}            the folder of the step train
//   ${steps.register.version} a member of the JSON object that the step register printed
//   ${inputs.rows}            the path or URL of one of the step's inputs
//   ${run}                    the name of the run
//   ${cache}                  a folder of this machine that all runs share; its files may be missing
//   $${                       the two characters ${
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"

namespace hone {

struct StepReference {
  enum Kind { kOut, kFolder, kResult, kInput, kRun, kCache } kind = kOut;
  std::string name = {};    // of the step or input
  std::string member = {};  // kResult
  std::string text() const;
};

// The references of a text, in order. Errors: H3161.
Result<std::vector<StepReference>> references_of(std::string_view text);
// Replaces each reference by its value.
Result<std::string> expand_references(
    std::string_view text, const std::function<Result<std::string>(const StepReference&)>& meaning);

// REFERENCE OP VALUE with == != < <= > >=; numbers compare as numbers, other texts by == and !=
// only.
struct StepCondition {
  StepReference left;
  std::string op, right;
};
// Errors: H3161.
Result<StepCondition> parse_condition(std::string_view text);
Result<bool> condition_holds(const StepCondition& condition, const std::string& left);

}  // namespace hone
