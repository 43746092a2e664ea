#include "operate/pipeline/step_list.h"

#include <functional>
#include <map>

#include "base/core/text.h"
#include "base/settings/value.h"
#include "operate/pipeline/errors.h"

namespace hone {
namespace {

class StepReader {
 public:
  explicit StepReader(const ConfigTree& tree) : tree_(tree) {}

  Result<Pipeline> pipeline() {
    Pipeline p;
    const std::map<std::string, Key> keys = {
        {"name", text(p.name)}, {"pipeline_root", text(p.root)}, {"steps", {}}};
    HONE_TRY(walk(tree_.value, "", keys));
    const OrderedJson& steps = tree_.value.at("steps");
    if (!steps.is_array()) return wrong("/steps", "steps", steps, "a list of steps");
    for (size_t i = 0; i < steps.size(); ++i)
      p.steps.push_back(HONE_TRY(step(steps[i], fmt::format("/steps/{}", i))));
    if (p.name.empty()) p.name = "pipeline";
    return p;
  }

 private:
  using Key = std::function<Status(const OrderedJson& value, const std::string& pointer)>;

  Error wrong(const std::string& pointer, const std::string& key, const OrderedJson& value,
              const std::string& expected) const {
    return Error(err::kPipelineFile,
                 fmt::format("{} is {}, not {}", key,
                             value.is_structured() ? "a list or an object" : dump_json(value),
                             expected))
        .at(tree_.place(pointer));
  }
  static std::string last(const std::string& pointer) {
    return pointer.substr(pointer.rfind('/') + 1);
  }

  Status walk(const OrderedJson& object, const std::string& pointer,
              const std::map<std::string, Key>& keys) const {
    if (!object.is_object()) return wrong(pointer, "this", object, "an object");
    for (const auto& [key, value] : object.items()) {
      const std::string below = pointer + "/" + pointer_part(key);
      const auto known = keys.find(key);
      if (known == keys.end()) {
        std::vector<std::string> names;
        for (const auto& [name, act] : keys) names.push_back(name);
        return unknown_key(key, names, tree_.place(below));
      }
      if (known->second) HONE_TRY(known->second(value, below));
    }
    return Ok{};
  }

  template <class T>
  Key typed(T& into) {
    return [this, &into](const OrderedJson& value, const std::string& pointer) -> Status {
      const Field field(&into);
      if (value.is_structured() || value.is_null() ||
          !assign(field,
                  value.is_string() ? Json(value.get<std::string>()) : Json(dump_json(value))))
        return wrong(pointer, last(pointer), value, expected(field));
      return Ok{};
    };
  }
  Key text(std::string& into) { return typed(into); }

  Key words(std::vector<std::string>& into, bool split_text) {
    return
        [this, &into, split_text](const OrderedJson& value, const std::string& pointer) -> Status {
          if (value.is_string()) {
            if (!split_text) {
              into = {value.get<std::string>()};
              return Ok{};
            }
            auto split = split_words(value.get<std::string>());
            if (!split.ok()) return std::move(split.error()).at(tree_.place(pointer));
            into = *split;
            return Ok{};
          }
          if (!value.is_array()) return wrong(pointer, last(pointer), value, "a text or a list");
          for (const OrderedJson& word : value) {
            if (word.is_structured() || word.is_null())
              return wrong(pointer, last(pointer), value, "a list of words");
            into.push_back(word.is_string() ? word.get<std::string>() : dump_json(word));
          }
          return Ok{};
        };
  }

  Result<PipelineStep> step(const OrderedJson& value, const std::string& pointer) {
    PipelineStep s;
    s.retries = -1;
    std::optional<bool> continues;
    StepMachine& m = s.machine;
    const Key inputs = [&](const OrderedJson& given, const std::string& at) -> Status {
      if (!given.is_object()) return wrong(at, "inputs", given, "names with files or URLs");
      for (const auto& [name, file] : given.items()) {
        if (!file.is_string())
          return wrong(at + "/" + pointer_part(name), name, file, "a path or URL");
        s.inputs.emplace_back(name, file.get<std::string>());
      }
      return Ok{};
    };
    const Key timeout = [&](const OrderedJson& given, const std::string& at) -> Status {
      s.timeout_s = parse_duration(given.is_string()   ? given.get<std::string>()
                                   : given.is_number() ? dump_json(given)
                                                       : "");
      if (s.timeout_s < 0) return wrong(at, "timeout", given, "a time such as 90s, 5m or 2h");
      return Ok{};
    };
    const Key machine = [&](const OrderedJson& given, const std::string& at) {
      return walk(given, at,
                  {{"machine_type", text(m.machine_type)},
                   {"gpu_type", text(m.gpu_type)},
                   {"gpu_count", typed(m.gpu_count)},
                   {"node_count", typed(m.node_count)},
                   {"zone", text(m.zone)}});
    };
    HONE_TRY(walk(value, pointer,
                  {{"name", text(s.name)},
                   {"run", words(s.command, true)},
                   {"inputs", inputs},
                   {"after", words(s.after, false)},
                   {"when", text(s.when)},
                   {"retries", typed(s.retries)},
                   {"timeout", timeout},
                   {"reuse", typed(s.reuse)},
                   {"continues", typed(continues)},
                   {"machine", machine}}));
    if (value.contains("retries") && (s.retries < 0 || s.retries > 1000))
      return wrong(pointer + "/retries", "retries", value.at("retries"), "from 0 to 1000");
    s.retries = std::max<int64_t>(0, s.retries);
    if (m.gpu_count < 0 || m.gpu_count > 1024 || m.node_count < 1 || m.node_count > 100000)
      return Error(err::kPipelineFile, "the machine has an impossible number of GPUs or nodes")
          .at(tree_.place(pointer + "/machine"));
    // These commands of hone continue what they began.
    const std::string command = hone_command(s.command);
    s.continues = continues.value_or(command == "train" || command == "prepare");
    return s;
  }

  const ConfigTree& tree_;
};

}  // namespace

Result<Pipeline> pipeline_of_steps(const ConfigTree& tree) { return StepReader(tree).pipeline(); }

}  // namespace hone
