// Converts the machines that a recipe names for a compiled pipeline, and says what this machine does instead.
#pragma once

#include "operate/pipeline/pipeline.h"
#include "operate/pipeline/recipe/recipe_reader.h"

namespace hone {

StepMachine host_machine(const Recipe& r);      // for steps that download, tokenize or register
StepMachine training_machine(const Recipe& r);  // for steps that train or evaluate
StepMachine serving_machine(const Recipe& r);   // for the step that deploys

// The words of hone launch before "--" that start the ranks for training, one rank for each GPU of each machine. Uses
// the recipe's keys `launcher` and `hostfile`. Empty if the recipe has neither: one process trains on this machine.
std::vector<std::string> launch_words(const Recipe& r);

// Lines for the summary of the run: the machines that the recipe names, and what happens on this machine instead.
std::vector<std::string> machine_notes(const Recipe& r);

// The name of a cloud's GPU in hone plan: "nvidia-tesla-a100" -> "A100-40GB". "" for GPUs that hone plan does not know.
std::string planned_device(const std::string& gpu_type);

// The command hone plan for the training machine, with `row_flags`, the flags that decide rows. Empty if the recipe
// names no GPU, or a GPU that hone plan does not know; the latter adds a line to `notes`.
std::vector<std::string> plan_command(const Recipe& r, const std::vector<std::string>& row_flags,
                                      std::vector<std::string>& notes);

}  // namespace hone
