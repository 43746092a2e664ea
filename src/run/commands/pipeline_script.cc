#include "run/commands/pipeline_script.h"

#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "base/core/process.h"
#include "base/core/text.h"
#include "operate/pipeline/display.h"

namespace hone {
namespace {

constexpr size_t kColumns = 80;

// Lines "# ..." of at most 80 columns.
std::string comment(const std::string& text) {
  std::string out;
  for (const std::string& line : split(trim(wrapped_text("", text, 0, kColumns - 2)), '\n'))
    out += "# " + line + "\n";
  return out;
}

// Words of a command in lines of at most 80 columns, which end between flags.
std::string command_lines(const std::vector<std::string>& words) {
  std::string out, line, flag;
  const auto put = [&] {
    if (!line.empty() && line.size() + 1 + flag.size() > kColumns - 2) {
      out += line + " \\\n";
      line = "   ";
    }
    line += (line.empty() ? "" : " ") + flag;
    flag.clear();
  };
  for (const std::string& word : words) {
    if (word.starts_with("--") && !flag.empty()) put();
    flag += (flag.empty() ? "" : " ") + word;
  }
  put();
  return out + line + "\n";
}

// The words of a step's command; `result`: what stands for a member that a step printed.
std::vector<std::string> words_with(
    const PipelineStep& step, const ScriptPlace& place,
    const std::function<std::string(const StepReference&)>& result) {
  std::vector<std::string> words;
  for (const std::string& word : step.command) {
    const auto exact = expand_references(word, [&](const StepReference& r) -> Result<std::string> {
      if (r.kind == StepReference::kOut) return place.folder + "/" + step.name;
      if (r.kind == StepReference::kFolder) return place.folder + "/" + r.name;
      if (r.kind == StepReference::kRun) return place.run;
      if (r.kind == StepReference::kCache) return place.cache;
      for (const auto& [name, from] : step.inputs)
        if (r.kind == StepReference::kInput && name == r.name) return from;
      return result(r);
    });
    HONE_BUG_IF(!exact.ok(), "{}", exact.error().text());  // check_pipeline has read it
    words.push_back(*exact);
  }
  if (words[0] == "hone") words[0] = place.program;
  return words;
}

class ShellScript {
 public:
  ShellScript(const Pipeline& pipeline, const ScriptPlace& place) : place_(place) {
    const auto see = [&](const StepReference& r, const std::string& step) {
      if (r.kind == StepReference::kOut) folders_.insert(step);
      if (r.kind == StepReference::kFolder) folders_.insert(r.name);
      if (r.kind == StepReference::kResult) members_[r.name].insert(r.member);
    };
    for (const PipelineStep& step : pipeline.steps) {
      for (const std::string& word : step.command)
        if (const auto found = references_of(word); found.ok())
          for (const StepReference& r : *found) see(r, step.name);
      if (const auto when = parse_condition(step.when); when.ok()) see(when->left, step.name);
      for (const std::string& need : step.needs) needed_.insert(need);
    }
  }

  std::string step(const PipelineStep& step) {
    std::string title = step.name;
    if (!step.needs.empty()) title += ", after " + join(step.needs, ", ");
    if (!step.when.empty()) title += ", when " + step.when;
    std::string text = "\n" + comment(title);
    std::vector<std::string> conditions;
    for (const std::string& need : step.needs)
      if (conditional_.contains(need)) conditions.push_back("test -e " + shell_word(ran(need)));
    if (!step.when.empty()) conditions.push_back(condition(step.when));
    if (!conditions.empty()) text += "if " + join(conditions, " && ") + "; then\n";
    if (folders_.contains(step.name))
      text += "mkdir -p " + shell_word(place_.folder + "/" + step.name) + "\n";
    text += command_lines(words(step));
    if (conditions.empty()) return text;
    conditional_.insert(step.name);
    if (needed_.contains(step.name)) text += "touch " + shell_word(ran(step.name)) + "\n";
    return text + "fi\n";
  }

 private:
  std::string ran(const std::string& step) const { return place_.folder + "/" + step + ".ran"; }
  std::string file(const StepReference& r) const {
    return fmt::format("{}/{}.{}", place_.folder, r.name, r.member);
  }
  std::string content(const StepReference& r) const {
    return "\"$(cat " + shell_word(file(r)) + ")\"";
  }

  std::string condition(const std::string& text) const {
    const auto c = parse_condition(text);
    HONE_BUG_IF(!c.ok(), "{}", c.error().text());  // check_pipeline has read it
    // awk compares two numbers as numbers, and other texts as texts.
    return fmt::format("awk -v a={} \\\n    -v b={} 'BEGIN {{ exit !(a {} b) }}'", content(c->left),
                       shell_word(c->right), c->op);
  }

  std::vector<std::string> words(const PipelineStep& step) const {
    std::vector<std::string> out;
    if (const auto members = members_.find(step.name); members != members_.end()) {
      out = {shell_word(place_.hone), "pipeline", "exec", "--write"};
      for (const std::string& member : members->second) {
        const StepReference r{.kind = StepReference::kResult, .name = step.name, .member = member};
        out.push_back(shell_word(member + "=" + file(r)));
      }
      out.emplace_back("--");
    }
    // The control characters enclose a value that another step prints.
    const auto marked = [&](const StepReference& r) { return "\1" + content(r) + "\2"; };
    for (const std::string& given : words_with(step, place_, marked)) {
      std::string word;
      for (size_t at = 0; at < given.size();) {
        const size_t begin = std::min(given.find('\1', at), given.size());
        if (begin > at) word += shell_word(given.substr(at, begin - at));
        if (begin == given.size()) break;
        const size_t end = given.find('\2', begin);
        word += given.substr(begin + 1, end - begin - 1);
        at = end + 1;
      }
      out.push_back(given.empty() ? "''" : word);
    }
    return out;
  }

  const ScriptPlace& place_;
  std::set<std::string> folders_, needed_, conditional_;
  std::map<std::string, std::set<std::string>> members_;  // by step, that others refer to
};

}  // namespace

std::vector<std::string> exact_command(const PipelineStep& step, const ScriptPlace& place) {
  return words_with(step, place, [](const StepReference& r) { return r.text(); });
}

std::string pipeline_script(const Pipeline& p, const ScriptPlace& place,
                            const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += comment(note);
  if (!place.project.empty())
    text += "export GOOGLE_CLOUD_PROJECT=" + shell_word(place.project) + "\n";
  text += "mkdir -p " + shell_word(place.folder) + "\n";
  ShellScript script(p, place);
  for (const PipelineStep& step : p.steps) text += script.step(step);
  return text;
}

std::string shell_name(const std::string& own) {
  std::error_code unknown;
  for (const std::string& folder : split(environment("PATH"), ':')) {
    const std::filesystem::path found = std::filesystem::canonical(folder + "/hone", unknown);
    if (!unknown) return found == own ? "hone" : own;
  }
  return own;
}

}  // namespace hone
