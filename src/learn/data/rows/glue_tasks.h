// The tasks of the GLUE benchmark: columns, label names and file layouts, in the form of run_glue
// and of the hub's data set `glue`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

struct GlueTask {
  std::string name;                // "mnli"
  std::vector<std::string> text;   // one or two columns of the hub's data set
  std::vector<std::string> names;  // of the labels 0, 1, ...; none: the task predicts a number
  // In GLUE's own tab-separated files.
  std::vector<std::string> file_text;
  std::string file_label;
  // The columns of such a file when it has no header line.
  std::vector<std::string> file_columns;
};

std::span<const GlueTask> glue_tasks();
std::vector<std::string> glue_choices();  // their names, after "": none

const GlueTask* find_glue_task(std::string_view name);  // in any case; null: no such task

}  // namespace hone
