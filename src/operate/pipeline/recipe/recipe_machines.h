// The machines that a recipe names: their form in a compiled pipeline, and what this machine does
// instead.
#pragma once

#include "operate/pipeline/pipeline.h"
#include "operate/pipeline/recipe/recipe_reader.h"

namespace hone {

// Machines that download and tokenise, that train and evaluate, and that serve.
StepMachine host_machine(const Recipe& r);
StepMachine training_machine(const Recipe& r);
StepMachine serving_machine(const Recipe& r);

// The words of hone launch for the ranks that train, up to "--": one for each GPU of each machine, started by
// `launcher`, or on the hosts of `hostfile`. Empty: the file names neither, and one process trains here.
std::vector<std::string> launch_words(const Recipe& r);

// Lines for the summary of the run.
std::vector<std::string> machine_notes(const Recipe& r);

// The name that hone plan has for a GPU of a cloud ("nvidia-tesla-a100" -> "A100-40GB"); "" for others.
std::string planned_device(const std::string& gpu_type);

// hone plan for the machine that trains, with the flags that decide rows. Empty if it has no GPU, or one that hone
// plan does not know; a line of `notes` then names that GPU.
std::vector<std::string> plan_command(const Recipe& r, const std::vector<std::string>& row_flags,
                                      std::vector<std::string>& notes);

}  // namespace hone
