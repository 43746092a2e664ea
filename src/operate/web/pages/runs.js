// The page of runs: the list, one run (id), or several beside each other (compare).
import {follow, kept, listParameter, parameter} from './common.js';
import {ComparePage} from './run_compare.js';
import {RunList} from './run_list.js';
import {RunPage} from './run_page.js';

const LIST_SECONDS = 3, RUN_SECONDS = 1;
const id = kept ? kept.run : parameter('id'), compared = listParameter('compare');
const page = id ? new RunPage(id) : compared.length ? new ComparePage([...new Set(compared)]) : new RunList();
follow(() => page.look(), id ? RUN_SECONDS : LIST_SECONDS);
