// Makes texts for a table of the steps of a pipeline's run and their results.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "operate/pipeline/state.h"

namespace hone {

class ShownSteps {
 public:
  // `run_folder` is the folder of the run, with the file run.json and a folder for each step.
  ShownSteps(std::vector<StepRow> rows, std::string run_folder);
  // The steps in the order of the pipeline.
  const std::vector<StepRow>& rows() const { return rows_; }

  // The text for a step: its message if it has one, else its result. If the result was taken from another run, the text
  // ends with the name of this run.
  std::string result(const StepRow& step) const;
  // result() in a short form: if this step was skipped because of the decision of another step, the reason of the
  // decision is left out, because the table row of the other step has it.
  std::string short_result(const StepRow& step) const;

 private:
  size_t place_of(const std::string& step) const;
  std::string found_by(const StepRow& step) const;

  std::vector<StepRow> rows_;
  std::string folder_;
  OrderedJson graph_;
};

}  // namespace hone
