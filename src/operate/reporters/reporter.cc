#include "operate/reporters/reporter.h"

namespace hone {

std::string report_name(const std::string& key) {
  if (key.starts_with("eval_")) return "eval/" + key.substr(5);
  return key == "perplexity" ? "eval/perplexity" : "train/" + key;
}

}  // namespace hone
