// Makes a chat template (Jinja) from the texts that surround each kind of message. Other programs know such templates
// by a name, such as "chatml".
#pragma once

#include <string>

namespace hone {

// All texts are Jinja expressions: "'<|im_start|>user\n'", "bos_token"; "" and "''": nothing.
struct ChatFormat {
  std::string name;
  std::string start = "''";              // before the first message
  std::string system_begin, system_end;  // before and after the system message
  std::string user_begin, user_end;      // before and after a user message
  std::string answer_begin = "''";       // before an assistant message; also the generation prompt
  std::string answer_end;                // after an assistant message; the model is trained on it
  std::string after_answer = "''";       // after answer_end; the model is not trained on it
  std::string usual_system = "";         // system message of a chat that has none; "": none
  bool system_in_user = false;           // the system message is put into the first user message
  bool trims = false;                    // blanks at the ends of messages are removed
};

// The source of the Jinja template. It marks assistant messages by {% generation %}, and raises an exception for roles
// other than system, user and assistant.
std::string chat_template_of(const ChatFormat& format);

}  // namespace hone
