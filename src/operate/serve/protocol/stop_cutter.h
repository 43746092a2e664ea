// Ends a text at the first stop text in it. The text arrives in pieces, and there may be several stop texts.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hone {

class StopCutter {
 public:
  using Stops = std::shared_ptr<const std::vector<std::string>>;
  explicit StopCutter(Stops stops) : stops_(std::move(stops)) {}

  // Adds the next piece. Returns the text that can be shown now. If the text ends with the beginning of a stop text,
  // that part is held back. After a stop text was found, returns "".
  std::string push(const std::string& piece) {
    if (stopped_) return "";
    held_ += piece;
    size_t first = std::string::npos;
    for (const std::string& s : *stops_) first = std::min(first, held_.find(s));
    if (first != std::string::npos) {
      stopped_ = true;
      held_.resize(first);
      return std::exchange(held_, "");
    }
    size_t keep = 0;  // length of the longest end that begins a stop text
    for (const std::string& s : *stops_)
      for (size_t n = std::min(s.size() - 1, held_.size()); n > keep; --n)
        if (held_.ends_with(s.substr(0, n))) keep = n;
    std::string out = held_.substr(0, held_.size() - keep);
    held_.erase(0, out.size());
    return out;
  }
  // Returns the text that is still held back. Call it after the last piece.
  std::string finish() { return stopped_ ? "" : std::exchange(held_, ""); }
  bool stopped() const { return stopped_; }  // a stop text was found

 private:
  Stops stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace hone
