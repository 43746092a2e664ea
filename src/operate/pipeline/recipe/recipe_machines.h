// Converts the keys of a recipe (a short pipeline file, recipe_reader.h) that name machines to StepMachines for a
// compiled pipeline. machine_notes() describes what `hone pipeline run` does on this machine instead.
#pragma once

#include "operate/pipeline/pipeline.h"
#include "operate/pipeline/recipe/recipe_reader.h"

namespace hone {

StepMachine host_machine(const Recipe& r);      // for steps that download, tokenize or register
StepMachine training_machine(const Recipe& r);  // for steps that train or evaluate
StepMachine serving_machine(const Recipe& r);   // for the step that deploys

// The words "hone", "launch" and its flags, without the "--" and the command after it. The command starts one training
// rank for each GPU of each machine. Uses the recipe's keys `launcher` and `hostfile`. Empty if the recipe has neither:
// one process trains on this machine.
std::vector<std::string> launch_words(const Recipe& r);

// Lines for the summary of the run: the machines that the recipe names, and the machine that runs the steps instead.
std::vector<std::string> machine_notes(const Recipe& r);

// The name that hone plan has for a cloud's GPU: "A100-40GB" for "nvidia-tesla-a100". "" if hone plan does not know it.
std::string planned_device(const std::string& gpu_type);

// The words of the command `hone plan` for the training machine, with `row_flags` (RecipeFlags::rows) at the end. Empty
// if the recipe names no GPU. Also empty, with a line in `notes`, if hone plan does not know the GPU.
std::vector<std::string> plan_command(const Recipe& r, const std::vector<std::string>& row_flags,
                                      std::vector<std::string>& notes);

}  // namespace hone
