// hone reproduce MODEL: what differs here from the training of a registered model, and the command that trains it
// again.
#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/hash.h"
#include "base/store/store.h"
#include "engine/backends/backends.h"
#include "learn/tasks/tasks.h"
#include "operate/registry/errors.h"
#include "operate/registry/model_hash.h"
#include "operate/registry/registry_json.h"
#include "operate/reporters/run_info.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/table.h"
#include "run/commands/task_choice.h"

namespace hone {
namespace {

struct ReproduceSettings {
#define HONE_SETTINGS "run/commands/reproduce.def"
#include "base/settings/fields.inc"
};

// One thing that decides the result: its recorded value and its value here; "": unknown.
struct Circumstance {
  std::string what, recorded, here;
  bool differs() const { return !recorded.empty() && recorded != here; }
};

std::string hash_of(const std::string& file) {
  if (!is_file(file) && !is_folder(file)) return "missing";
  const Result<std::string> hash = hash_data(file);
  return hash.ok() ? *hash : "unreadable";
}
std::string model_here(const std::string& folder) {
  const Result<std::string> hash = hash_model(folder);
  return hash.ok() ? *hash : "missing";
}

bool has_task(const std::string& name) {
  const std::vector<Task> all = all_task();
  return std::any_of(all.begin(), all.end(), [&](const Task& t) { return t.name == name; });
}

// The settings of the run that this hone does not have.
std::string unknown_settings(const RegisteredRun& run) {
  if (!has_task(run.task)) return "task " + run.task;
  const Task task = find_task(run.task);
  const Schema schema = described(task);
  std::vector<std::string> unknown;
  for (const auto& [key, value] : run.params.items()) {
    const auto& all = schema.all();
    const bool known =
        key == "task" || key == "preset" ||
        std::any_of(all.begin(), all.end(), [&](const Setting& s) { return s.name == key; });
    if (!known) unknown.push_back("--" + key);
  }
  return join(unknown, " ");
}

std::string threads_here(const std::string& recorded) {
  const size_t comma = recorded.rfind(", ");
  const int threads = comma == std::string::npos ? 0 : std::atoi(recorded.c_str() + comma + 2);
  const Result<std::unique_ptr<Backend>> cpu = open_backend("cpu", {.threads = threads});
  return cpu.ok() ? (*cpu)->description() : "";
}

std::vector<Circumstance> circumstances_of(const ModelVersion& v, const RegisteredRun& run) {
  const OrderedJson& record = run.record;
  std::vector<Circumstance> all;
  all.push_back({"hone", text_at(record, "hone"), std::string(version())});
  all.push_back({"files of " + v.reference(), v.hash, model_here(v.source)});
  if (!run.model_hash.empty())
    all.push_back(
        {"model that it began from", run.model_hash, model_here(text_at(record, "model"))});
  for (const OrderedJson& file : value_at(record, "data"))
    all.push_back({text_at(file, "file"), text_at(file, "hash"), hash_of(text_at(file, "file"))});
  all.push_back({"settings that this hone lacks", "none", "none"});
  if (const std::string unknown = unknown_settings(run); !unknown.empty())
    all.back().here = unknown;
  // Threads do not change bits, the instruction set may; of a GPU its name says it all.
  const std::string numerics = text_at(record, "numerics_machine"),
                    device = text_at(run.params, "device");
  if (device == "cpu" && !numerics.empty())
    all.push_back({"instruction set, threads", numerics, threads_here(numerics)});
  const Machine here = this_machine();
  all.push_back({"processor", text_at(value_at(record, "machine"), "cpu"), here.cpu});
  all.push_back({"GPU", text_at(value_at(record, "machine"), "gpu"), here.gpu});
  return all;
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// The flags that differ from their defaults.
std::string command_of(const RegisteredRun& run) {
  std::string command = fmt::format("hone train --task {}", run.task);
  if (!has_task(run.task)) return command;
  const Task task = find_task(run.task);
  const Schema schema = described(task);
  for (const Setting& s : schema.all()) {
    const auto value = run.params.find(s.name);
    if (value == run.params.end() || *value == s.default_value || value->is_null()) continue;
    command += " --" + s.name;
    if (value->is_array()) {
      for (const OrderedJson& word : *value)
        command += " " + shell_word(word.is_string() ? word.get<std::string>() : dump_json(word));
    } else {
      command +=
          " " + shell_word(value->is_string() ? value->get<std::string>() : dump_json(*value));
    }
  }
  const std::string folder = text_at(run.record, "folder");
  return folder.empty() ? command : fmt::format("cd {} && {}", shell_word(folder), command);
}

Result<int> run_reproduce(const std::vector<std::string>& args) {
  ReproduceSettings s;
  Schema schema("hone reproduce", "what differs here from the training of a registered model");
  s.bind(schema);
  schema.positional("reference");
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  if (s.reference.empty())
    return Error(err::kMissingArgument, "'hone reproduce' needs a model")
        .todo("name it; hone models list shows them");
  Registry registry = HONE_TRY(Registry::open(s.registry));
  const ModelVersion v = HONE_TRY(resolve_model(registry, s.reference));
  if (v.run_id.empty())
    return Error(err::kNotRegistered, fmt::format("the registry has no run of {}", v.reference()))
        .at(registry.address())
        .todo("register the model with --run_log, the hone_log.jsonl of its training");
  const RegisteredRun run = HONE_TRY(registry.run(v.run_id));
  const std::vector<Circumstance> all = circumstances_of(v, run);
  const std::string command = command_of(run);
  const auto first =
      std::find_if(all.begin(), all.end(), [](const Circumstance& c) { return c.differs(); });
  const OrderedJson& data = value_at(run.record, "data");
  const bool unknown_data = data.is_null() || data.empty();
  const auto json_of = [](const Circumstance& c) -> OrderedJson {
    return {{"what", c.what}, {"recorded", c.recorded}, {"here", c.here}, {"differs", c.differs()}};
  };
  if (s.json) {
    OrderedJson list = OrderedJson::array();
    for (const Circumstance& c : all) list.push_back(json_of(c));
    print_out(dump_json(OrderedJson{
                  {"name", v.model},
                  {"version", v.number},
                  {"first_difference", first == all.end() ? OrderedJson() : json_of(*first)},
                  {"checks", list},
                  {"data_recorded", !unknown_data},
                  {"command", command}}) +
              "\n");
    return kExitDone;
  }
  std::vector<std::vector<std::string>> lines = {{"what", "then", "here", ""}};
  for (const Circumstance& c : all)
    if (!c.recorded.empty())
      lines.push_back({c.what, c.recorded, c.here, c.differs() ? "differs" : "same"});
  print_out(table_of(lines, "text"));
  print_out(first == all.end()
                ? fmt::format("\nnothing {}differs\n", unknown_data ? "that is known " : "")
                : fmt::format("\nfirst difference: {}\n", first->what));
  if (unknown_data) print_out("the data were not recorded: they were not here as files\n");
  print_out(command + "\n");
  return kExitDone;
}

}  // namespace

Command command_reproduce() {
  return {.name = "reproduce",
          .summary = "show what differs from the training of a registered model",
          .in = CommandGroup::kInspect,
          .run = run_reproduce};
}

}  // namespace hone
