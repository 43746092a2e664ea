#include "run/commands/train_record.h"

#include <filesystem>

#include "base/core/clock.h"
#include "base/core/redact.h"
#include "base/core/text.h"
#include "base/ranks/world.h"
#include "base/store/new_folders.h"
#include "learn/train/run_ranks.h"
#include "operate/monitor/monitor.h"
#include "run/commands/training.h"

namespace hone {

RunInfo info_of(const TaskSettings& s, const std::string& task, const Schema& schema) {
  RunInfo info;
  info.id = new_run_id();
  info.name = s.run_name.empty() ? last_part(s.output_dir) : s.run_name;
  info.command = schema.command();
  std::error_code unknown;
  info.folder = std::filesystem::current_path(unknown).string();
  info.task = task;
  // Reporters and pages show what is here.
  info.model = redact_text(s.model_name_or_path.empty() ? s.config_name + s.model_type
                                                        : s.model_name_or_path);
  info.output_dir = s.output_dir;
  info.device = s.device_here();
  info.devices = s.ranks->share().ranks;
  info.batch_size = s.per_device_train_batch_size;
  info.gradient_accumulation_steps = s.gradient_accumulation_steps;
  info.settings = redact_secrets(schema.dump());
  info.machine = this_machine();
  info.begun_s = system_clock().wall_seconds();
  return info;
}

void record_refusal(const ChosenTask& chosen, const Error& error) {
  const TaskSettings& s = *chosen.task->settings;
  const Result<World> world = read_world();
  const NewFolders made(s.output_dir);
  if (!world.ok() || !world->leads() || !check_output_dir(s.output_dir).ok()) return;
  RunInfo info = info_of(s, chosen.task->name, chosen.schema);
  info.devices = world->ranks;
  if (auto monitor = Monitor::begin(s, std::move(info)); monitor.ok()) (*monitor)->end(error);
}

}  // namespace hone
