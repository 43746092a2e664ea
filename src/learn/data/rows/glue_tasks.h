// The tasks of the GLUE benchmark, with their labels and columns. The columns differ between two sources of the data:
// the data set `glue` on the Hugging Face Hub, which run_glue of Transformers uses, and GLUE's own tab-separated files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

struct GlueTask {
  std::string name;               // "mnli"
  std::vector<std::string> text;  // the one or two columns of text in the Hub's data set
  // The names of the labels 0, 1, ...; empty: the task predicts a number.
  std::vector<std::string> names;
  std::vector<std::string> file_text;  // the columns of text in GLUE's own files
  std::string file_label;              // the column of the label in GLUE's own files
  // All columns of GLUE's own files in order, for files without a header line.
  std::vector<std::string> file_columns;
};

std::span<const GlueTask> glue_tasks();
// The choices of a setting: "" (no task), then the names of the tasks.
std::vector<std::string> glue_choices();

// The task with this name, in upper or lower case; null if there is no such task.
const GlueTask* find_glue_task(std::string_view name);

}  // namespace hone
