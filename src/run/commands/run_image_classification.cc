// hone run_image_classification ...: Transformers' script as people type it, which is train --task image_classification.
#include "run/commands/command.h"
#include "run/commands/run_script.h"

namespace hone {

Command command_run_image_classification() {
  return {.name = "run_image_classification",
          .summary = "same as train --task image_classification",
          .in = CommandGroup::kOtherPrograms,
          .aliases = {"run_image_classification.py"},
          .run = [](const std::vector<std::string>& args) {
            return run_script("run_image_classification", "image_classification", args);
          }};
}

}  // namespace hone
