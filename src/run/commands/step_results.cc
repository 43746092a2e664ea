#include "run/commands/step_results.h"

#include "base/core/error_report.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "base/store/http.h"
#include "base/store/store.h"
#include "operate/registry/decide.h"
#include "operate/registry/metric_interval.h"
#include "operate/registry/policy.h"
#include "operate/serve/example.h"

namespace hone {
namespace {

constexpr int kShortDigits = 4;
constexpr int kExampleTokens = 64;
std::string short_number(double x) { return fmt::format("{:.{}g}", x, kShortDigits); }

std::optional<double> number_at(const OrderedJson& from, const std::string& key) {
  const auto it = from.find(key);
  if (!from.is_object() || it == from.end() || !it->is_number()) return {};
  return it->get<double>();
}

// The metric of an evaluation's rows with its interval; "" if the rows do not have it.
std::string metric_with_interval(const std::string& metric, const std::string& folder) {
  const Result<Evaluation> evaluation = read_evaluation(folder);
  if (!evaluation.ok()) return "";
  const auto m = metric_interval(*evaluation, metric);
  if (!m.ok()) return "";
  const std::string confidence =
      m->low == m->high ? "" : fmt::format("{:.0f} % ", m->confidence * 100);
  return fmt::format("{} {} ({}{})", metric, short_number(m->value), confidence,
                     interval_text(m->low, m->high, m->rows, kShortDigits));
}

// The metrics that belong to a model; not times, sizes and counts.
std::string other_metrics(const OrderedJson& metrics, const std::string& but) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : metrics.items()) {
    const std::string name = bare_metric(key);
    const bool is_about_the_run = name.ends_with("runtime") || name.ends_with("per_second") ||
                                  name.starts_with("samples") || name == "epoch";
    if (value.is_number() && name != but && !is_about_the_run)
      parts.push_back(fmt::format("{} {}", name, short_number(value.get<double>())));
  }
  return join(parts, ", ");
}

std::vector<std::string> results_of_eval(const std::string& metric, const OrderedJson& result,
                                         const std::string& folder) {
  std::vector<std::string> lines;
  const std::string first = metric.empty() ? "" : metric_with_interval(metric, folder);
  if (!first.empty()) lines.push_back(first);
  if (std::string others = other_metrics(result, first.empty() ? "" : metric); !others.empty())
    lines.push_back(std::move(others));
  return lines;
}

std::vector<std::string> results_of_train(const std::string& folder) {
  const auto text = file_store().read(folder + "/all_results.json");
  if (!text.ok()) return {};
  const auto results = parse_ordered_json(*text, "all_results.json");
  if (!results.ok()) return {};
  std::vector<std::string> parts;
  for (const auto& [key, name] :
       {std::pair("train_loss", "mean loss"), {"eval_loss", "evaluation loss"}})
    if (const auto x = number_at(*results, key))
      parts.push_back(fmt::format("{} {}", name, short_number(*x)));
  if (const auto epochs = number_at(*results, "epoch"))
    parts.push_back(fmt::format("{} epoch{}", short_number(*epochs), *epochs == 1 ? "" : "s"));
  if (parts.empty()) return {};
  return {join(parts, ", ")};
}

std::vector<std::string> results_of_check(const Pipeline& pipeline, const OrderedJson& result) {
  std::vector<std::string> lines;
  bool names_flags = false;
  const auto findings = result.find("findings");
  if (findings == result.end() || !findings->is_array()) return {};
  for (const OrderedJson& f : *findings) {
    if (text_at(f, "level") != "warning") continue;
    std::string line = fmt::format("warning {}: {}", text_at(f, "id"), text_at(f, "what"));
    for (const char* key : {"where", "do"})
      if (const std::string more = text_at(f, key); !more.empty()) line += "; " + more;
    names_flags = names_flags || line.find("--") != std::string::npos;
    lines.push_back(std::move(line));
  }
  if (names_flags && pipeline.is_recipe()) lines.emplace_back(kFlagsAreKeys);
  if (lines.empty()) lines.emplace_back("nothing wrong was found");
  return lines;
}

// The verdict with its reason, which names both values unless something else decided.
std::vector<std::string> results_of_decision(const OrderedJson& decision) {
  const std::string reason = text_at(decision, "reason");
  std::vector<std::string> lines = {fmt::format("{}: {}", text_at(decision, "verdict"), reason)};
  const OrderedJson evidence = decision.value("evidence", OrderedJson::object());
  const OrderedJson c = evidence.value("comparison", OrderedJson());
  const auto version = number_at(c, "version"), against = number_at(c, "against");
  if (const auto value = number_at(evidence, "value"); value && !version)
    lines.push_back(fmt::format("{} {}", text_at(evidence, "metric"), short_number(*value)));
  if (version && against && reason.find(" against ") == std::string::npos)
    lines.push_back(fmt::format("{} {} against {}", text_at(evidence, "metric"),
                                short_number(*version), short_number(*against)));
  for (std::string& line : worse_slices(evidence)) lines.push_back(std::move(line));
  return lines;
}

// The command that deploys a version which the verdict keeps from the endpoint.
std::vector<std::string> lines_without_endpoint(const OrderedJson& outcome) {
  const std::string verdict = text_at(outcome, "verdict");
  if (verdict.empty() || verdict == "promote") return {};
  for (const OrderedJson& step : outcome.value("steps", OrderedJson::array())) {
    const OrderedJson result = step.value("result", OrderedJson());
    if (text_at(step, "name") != "register" || !result.contains("version")) continue;
    return {fmt::format("{:<11} this version is not deployed; to serve it: hone deploy {}:{}",
                        verdict, shell_word(text_at(result, "name")),
                        dump_json(result.at("version")))};
  }
  return {};
}

// A request that the model answers as it was evaluated: the most probable tokens, in a chat if it learnt chats.
std::pair<std::string, OrderedJson> example_request(const OrderedJson& outcome,
                                                    const std::string& model) {
  const OrderedJson example = outcome.value("example", OrderedJson(kExampleText));
  if (text_at(outcome, "route") == kChatRoute) {
    const OrderedJson message{{"role", "user"}, {"content", example}};
    return {kChatRoute, OrderedJson{{"model", model},
                                    {"messages", OrderedJson::array({message})},
                                    {"temperature", 0},
                                    {"max_tokens", kExampleTokens}}};
  }
  return {fmt::format("/v1/models/{}:predict", url_encoded(model)),
          OrderedJson{{"instances", OrderedJson::array({example})}}};
}

}  // namespace

std::vector<std::string> step_results(const Pipeline& pipeline, const PipelineStep& step,
                                      const StepRow& row, const std::string& folder) {
  const std::vector<std::string>& c = step.command;
  if (c.size() < 2 || c[0] != "hone") return {};
  if (hone_command(c) == "train") return results_of_train(folder);
  if (!row.result.is_object()) return {};
  if (c[1] == "check") return results_of_check(pipeline, row.result);
  if (c[1] == "eval") return results_of_eval(pipeline.metric, row.result, folder);
  const auto told = [&](const char* key) {
    const auto it = row.result.find(key);
    return it == row.result.end() ? "" : it->is_string() ? it->get<std::string>() : dump_json(*it);
  };
  if (c[1] == "deploy") {
    std::string line =
        fmt::format("{}:{} answers at {}", told("model"), told("version"), told("url"));
    for (const OrderedJson& gone : row.result.value("replaced", OrderedJson::array()))
      line +=
          fmt::format("; {} no longer answers", gone.is_string() ? gone.get<std::string>() : "");
    return {line};
  }
  if (c[1] == "models" && row.result.contains("verdict")) return results_of_decision(row.result);
  if (c[1] == "models" && row.result.contains("version"))
    return {fmt::format("{}:{}", told("name"), told("version"))};
  return {};
}

std::string error_of_step(const StepRow& row) {
  const OrderedJson& error = value_at(row.result, "error");
  if (row.status != "failed" || !error.is_object()) return "";
  const std::optional<Error> e = reported_error(dump_json(error) + "\n");
  return e ? "\n" + e->text() + "\n" : "";
}

std::vector<std::string> endpoint_lines(const OrderedJson& outcome) {
  const std::string url = text_at(outcome, "url"), name = text_at(outcome, "endpoint_name"),
                    model = text_at(outcome, "model");
  std::vector<std::string> lines;
  if (url.empty()) return lines_without_endpoint(outcome);
  lines.push_back(fmt::format("{:<11} {}", "url", url));
  if (!model.empty()) {
    // The shell fills in the key; a body that curl sends is a POST.
    const std::string file = text_at(outcome, "key_file");
    const std::string value = !environment("HONE_API_KEY").empty() ? "$HONE_API_KEY"
                              : file.empty()                       ? ""
                                             : fmt::format("$(head -n 1 {})", shell_word(file));
    const std::string key =
        value.empty() ? "" : fmt::format(" \\\n  -H \"Authorization: Bearer {}\"", value);
    const auto [route, body] = example_request(outcome, model);
    lines.push_back(fmt::format("{:<11} curl {}{}{} \\\n  -d {}", "ask", url, route, key,
                                shell_word(dump_json(body))));
  }
  if (!name.empty())
    lines.push_back(fmt::format("{:<11} hone endpoints stop {}", "stop", shell_word(name)));
  return lines;
}

}  // namespace hone
