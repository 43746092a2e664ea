// Shows the steps of a run on standard error. On a terminal the lines of ended steps stay, wrapped
// at its width, and those of the other steps are redrawn below them; elsewhere lines are plain.
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

  // Shows a change of a step: "running", "done", "failed", "skipped", with details, and below it
  // what the step found out. "waiting" with details: the step is repeated later.
  void set(const std::string& step, const std::string& status, const std::string& detail,
           const std::vector<std::string>& results = {});
  // Shows the last output of a running step that says what it does; plain lines do so every 30 seconds.
  void tell(const std::string& step, const std::string& output);
  void redraw();  // a few times a second
  void finish();

 private:
  struct Row {
    std::string status = "waiting", detail = {};
    double began = 0, said = 0;
    bool stays = false;  // its lines are above those that are redrawn
  };
  std::string live_text(size_t columns) const;
  void draw(const std::string& lasting, const std::string& live, size_t columns);

  std::vector<std::string> names_;
  std::map<std::string, Row> rows_;
  Clock& clock_;
  bool terminal_, finished_ = false;
  std::string drawn_;      // the lines that are redrawn
  size_t drawn_rows_ = 0;  // of the terminal
};

// `text` after `begin`, broken between words into lines of at most `columns`; later lines are
// indented. A longer word has a line of its own. Each line ends with a line break.
std::string wrapped_text(std::string_view begin, std::string_view text, size_t indent,
                         size_t columns);

// A line of a step's output, without its label if that is the name of the step, which is before it already.
std::string without_label(const std::string& step, const std::string& line);

// Whether a line of a step's output says what the step does now. A label with a fact, such as the memory that is
// planned, does not, nor do rows of tables and their titles.
bool says_what_is_done(const std::string& step, const std::string& line);

// The last line of a text as a terminal shows it: after "\r", and without escapes.
std::string last_line_of(std::string_view text);

}  // namespace hone
