// The steps of a run on standard error: on a terminal a line for each that is redrawn in place, plain
// lines elsewhere.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace hone {

class StepDisplay {
 public:
  StepDisplay(std::vector<std::string> names, Clock& clock = system_clock(),
              int force_terminal = -1);
  ~StepDisplay() { finish(); }
  StepDisplay(const StepDisplay&) = delete;
  StepDisplay& operator=(const StepDisplay&) = delete;

  // A step changed: "running", "done", "failed", "skipped", with more to say.
  void set(const std::string& step, const std::string& status, const std::string& detail);
  // What a running step printed last. Plain lines have it every 30 seconds.
  void tell(const std::string& step, const std::string& line);
  void redraw();  // a few times a second
  void finish();

 private:
  struct Row {
    std::string status = "waiting", detail = {};
    double began = 0, said = 0;
  };
  std::string line(const std::string& name, const Row& row) const;
  std::vector<std::string> names_;
  std::map<std::string, Row> rows_;
  Clock& clock_;
  bool terminal_, finished_ = false;
  std::string drawn_;  // what the terminal shows
};

// The last line of a text, without what a terminal was to do: after "\r", and without escapes.
std::string last_line_of(std::string_view text);

}  // namespace hone
