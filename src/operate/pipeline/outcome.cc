// The outcome of a run, and its place.
#include "base/core/text.h"
#include "base/core/url.h"
#include "base/store/hash.h"
#include "operate/pipeline/artifacts.h"
#include "operate/pipeline/display.h"
#include "operate/pipeline/runner.h"

namespace hone {

OrderedJson PipelineOutcome::json() const {
  OrderedJson list = OrderedJson::array();
  OrderedJson j = {{"run", run}, {"status", status}, {"link", link}};
  for (const StepRow& s : steps) {
    list.push_back({{"name", s.name},
                    {"status", s.status},
                    {"seconds", std::max(0.0, s.ended_s - s.begun_s)},
                    {"attempts", s.attempts},
                    {"reused_from", s.reused_from},
                    {"message", s.message},
                    {"result", s.result}});
    if (s.status != "done" || !s.result.is_object()) continue;
    const bool deployed = s.result.contains("endpoint");
    for (const auto& [key, of_endpoint] : {std::pair("verdict", false),
                                           {"reason", false},
                                           {"endpoint", true},
                                           {"url", true},
                                           {"endpoint_name", true},
                                           {"model", true},
                                           {"example", true},
                                           {"route", true},
                                           {"key_file", true}})
      if (s.result.contains(key) && (deployed || !of_endpoint)) j[key] = s.result.at(key);
  }
  j["steps"] = list;
  if (error) j["error"] = {{"code", error->code()}, {"message", error->what()}};
  return j;
}

std::string folder_of_root(const std::string& root) {
  if (!is_url(root)) return without_end_slash(root);
  return user_state_folder() + "/pipelines/" +
         sha256_of_text(without_end_slash(root)).substr(0, 16);
}

std::string link_to_run(const std::string& root, const std::string& run,
                        const std::string& project) {
  const std::string place = without_end_slash(root) + "/" + run;
  if (root.starts_with("gs://"))
    return "https://console.cloud.google.com/storage/browser/" + place.substr(5) +
           (project.empty() ? "" : "?project=" + project);
  if (is_url(root)) return place;
  if (place.starts_with("/")) return "file://" + place;
  std::string here(4096, '\0');
  if (::getcwd(here.data(), here.size()) == nullptr) return place;
  here.resize(here.find('\0'));
  return "file://" + here + "/" + place;
}

bool may_be_repeated(const std::vector<std::string>& command, int status,
                     const std::optional<Error>& error) {
  constexpr int kUserError = 1, kUsage = 2;  // of hone
  if (command[0] != "hone" || status > kUsage) return true;
  return status == kUserError && (!error || error->is_transient());
}

std::vector<std::string> lines_of_failure(const std::optional<Error>& error, std::string_view log) {
  std::vector<std::string> lines;
  if (!error) {
    if (std::string last = last_line_of(log); !last.empty()) lines.push_back(std::move(last));
    return lines;
  }
  std::string text = fmt::format("{}  {}", error->code(), error->what());
  for (const std::string& where : error->where()) text += "\n" + where;
  if (!error->remedy().empty()) text += "\n" + error->remedy();
  for (const std::string& line : split(text, '\n')) lines.emplace_back(trim(line));
  return lines;
}

}  // namespace hone
