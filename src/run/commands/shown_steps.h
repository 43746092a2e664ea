// The steps of a pipeline's run with their results, for a table.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "operate/pipeline/state.h"

namespace hone {

class ShownSteps {
 public:
  // `run_folder` has run.json and the folders of the steps.
  ShownSteps(std::vector<StepRow> rows, std::string run_folder);
  // In the order of the pipeline.
  const std::vector<StepRow>& rows() const { return rows_; }

  // The reason of a step's end, its result, or the run that it was taken from.
  std::string result(const StepRow& step) const;
  // The same without the reason of the decision that skipped the step: the row of that step has it.
  std::string short_result(const StepRow& step) const;

 private:
  size_t place_of(const std::string& step) const;
  std::string found_by(const StepRow& step) const;

  std::vector<StepRow> rows_;
  std::string folder_;
  OrderedJson graph_;
};

}  // namespace hone
