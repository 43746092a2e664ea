// hone reproduce MODEL: shows what differs from the training of a registered model, and the command that trains it
// again.
#include <algorithm>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/hash.h"
#include "base/store/store.h"
#include "engine/backends/backends.h"
#include "operate/registry/errors.h"
#include "operate/registry/model_hash.h"
#include "operate/registry/registry_json.h"
#include "operate/registry/run_names.h"
#include "operate/reporters/run_info.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/print_table.h"
#include "run/commands/training_command.h"

namespace hone {
namespace {

struct ReproduceSettings {
#define HONE_SETTINGS "run/commands/reproduce.def"
#include "base/settings/fields.inc"
};

// One thing that decides the result: its recorded value and its value here; "": unknown. `name`,
// `place`: of files.
struct Circumstance {
  std::string what, recorded, here, name = {}, place = {};
  bool differs() const { return !recorded.empty() && recorded != here; }
  std::string text() const { return name.empty() ? what : what + " " + name; }
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
  all.push_back({"model", v.hash, model_here(v.source), v.reference(), v.source});
  if (const std::string from = text_at(record, "model"); !run.model_hash.empty())
    all.push_back({"initial model", run.model_hash, model_here(from), initial_model_of(run), from});
  for (const OrderedJson& data : value_at(record, "data")) {
    const std::string file = text_at(data, "file"), name = text_at(data, "name");
    all.push_back({"data", text_at(data, "hash"), hash_of(file), name.empty() ? file : name, file});
  }
  for (const OrderedJson& once : value_at(record, "continued"))
    for (const OrderedJson& setting : value_at(once, "settings"))
      all.push_back({fmt::format("{} until step {}", text_at(setting, "name"),
                                 value_text(value_at(once, "step"))),
                     value_text(value_at(setting, "then")), value_text(value_at(setting, "now"))});
  all.push_back({"unknown settings", "none", "none"});
  if (const std::string unknown = unknown_settings(run); !unknown.empty())
    all.back().here = unknown;
  // Threads do not change bits, the instruction set may; of a GPU its name says it all.
  const std::string numerics = text_at(record, "numerics_machine"),
                    device = text_at(run.params, "device");
  if (device == "cpu" && !numerics.empty())
    all.push_back({"instructions", numerics, threads_here(numerics)});
  const Machine here = this_machine();
  all.push_back({"processor", text_at(value_at(record, "machine"), "cpu"), here.cpu});
  all.push_back({"GPU", text_at(value_at(record, "machine"), "gpu"), here.gpu});
  return all;
}

TextTable table_of_circumstances(const std::vector<Circumstance>& all, bool whole) {
  const auto shown = [whole](const std::string& text) { return whole ? text : short_hash(text); };
  TextTable table({{.name = "what"},
                   {.name = "name", .kind = Column::kName},
                   {.name = "is"},
                   {.name = "then", .kind = Column::kSentence},
                   {.name = "here", .kind = Column::kSentence},
                   {.name = "place", .kind = Column::kName, .priority = 1}});
  for (const Circumstance& c : all)
    if (!c.recorded.empty())
      table.add({c.what, c.name, c.differs() ? "different" : "same", shown(c.recorded),
                 c.differs() || whole ? shown(c.here) : "", c.place});
  return table;
}

Result<int> run_reproduce(const std::vector<std::string>& args) {
  ReproduceSettings s;
  Schema schema("hone reproduce", "show what differs from the training of a registered model");
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
  const std::string command = training_command(v, run);
  const auto first =
      std::find_if(all.begin(), all.end(), [](const Circumstance& c) { return c.differs(); });
  const OrderedJson& data = value_at(run.record, "data");
  const bool unknown_data = data.is_null() || data.empty();
  const auto json_of = [](const Circumstance& c) -> OrderedJson {
    return {{"what", c.text()},
            {"recorded", c.recorded},
            {"here", c.here},
            {"differs", c.differs()},
            {"place", c.place}};
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
  print_table(table_of_circumstances(all, s.csv || s.wide), {s.csv ? "csv" : "text", s.wide});
  if (s.csv) return kExitDone;
  print_out(first == all.end()
                ? fmt::format("\nnothing {}differs\n", unknown_data ? "that is known " : "")
                : fmt::format("\nfirst difference: {}\n", first->text()));
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
