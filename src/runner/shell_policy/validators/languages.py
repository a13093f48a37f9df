"""How inline code of each language could start programs: a rail, for what is written in plain sight."""

import re

STARTS = {
    "node": re.compile(
        r"child_process|mainModule|\bexecSync\b|\bspawnSync?\b|\bexecFile|\bprocess\.binding|\bprocess\.dlopen|\beval\s*\(|\bnew\s+Function\b|\bFunction\s*\(|\bvm\b\s*\.|require\(\s*[^'\"\s)]|\bBun\.spawn|\bBun\.\$|worker_threads|\bcluster\b"
    ),
    "ruby": re.compile(
        r"`|%x|\bsystem\b|\bexec\b|\bspawn\b|\bpopen|Open3|\bfork\b|\beval\b|instance_eval|class_eval|\bsend\b|__send__|\bsyscall\b|\bPTY\b|\bKernel\b|\bload\b|IO\.(?:read|write)\s*\(?\s*['\"]\||Fiddle|open\s*\(?\s*['\"]\|"
    ),
    "php": re.compile(
        r"`|\b(?:system|exec|shell_exec|passthru|popen|proc_open|pcntl_\w+|eval|assert|create_function|call_user_func\w*|include|dl|mail|putenv|ini_set|array_map|usort|preg_replace_callback)\b\s*\(",
        re.IGNORECASE,
    ),
    "perl": re.compile(
        r"`|\bqx\b|\bsystem\b|\bexec\b|\bfork\b|\bopen\b|\beval\b|\brequire\b|\bdo\b\s*['\"(<]|\bsyscall\b|\buse\s+(?!strict|warnings|utf8|feature|JSON|Data|List|POSIX|Time)|s(?P<d>[^\w\s]).*(?P=d).*(?P=d)[a-z]*e|\|\s*-|\bunlink\b|\brename\b|\bglob\b|<\s*\$|\bopendir\b|\bIPC|\bpipe\b|\bkill\b|\bENV\b"
    ),
    # Languages without a profile: what names a way to start programs or to run made-up code.
    "lua": re.compile(
        r"\bos\b(?!\s*\.\s*(?:time|date|clock|difftime|tmpname|exit|setlocale)\b)"
        r"|\bio\b(?!\s*\.\s*(?:write|read|open|lines|stdout|stderr|stdin|close)\b)"
        r"|\b(?:load|loadstring|loadfile|dofile|package|debug|_G|_ENV|ffi|setfenv|getfenv|posix|luv)\b"
        r"|\brequire\b(?!\s*\(?\s*['\"][\w.-]+['\"])|\brequire\b\s*\(?\s*['\"](?:os|io|uv)['\"]"
    ),
    "r": re.compile(
        r"\b(?:system2?|shell|shell\.exec|pipe|fifo|eval|evalq|parse|str2lang|do\.call|match\.fun|getFunction|mget|get0?|dyn\.load"
        r"|\.C|\.Call|\.External|processx|callr|reticulate|install\.packages|download\.file|url|socketConnection|unlink"
        r"|file\.remove|Sys\.setenv|Sys\.getenv|assign|environment|Reduce|sys\.\w+|Rcpp|inline)\b|:::|`"
    ),
    "julia": re.compile(
        r"`|\b(?:run|pipeline|eval|include_string|ccall|Cmd|Libc|Libdl|download|Downloads|getfield|invokelatest|include"
        r"|rm|mv|chmod|PyCall|RCall|Distributed|addprocs|parse|unsafe_\w+|getproperty|Base|Core|Main)\b|@c?cmd|@ccall|@eval"
        r"|\bPkg\.(?!test\b|instantiate\b|status\b|precompile\b|resolve\b|build\b|activate\b)|\bENV\b|\bpkg\""
    ),
    "elixir": re.compile(
        r"\bSystem\b(?!\.(?:version|schema_version|monotonic_time|os_time|system_time|argv)\b)|\bPort\b|\bCode\b|\bEEx\b|\bMix\b"
        r"|\bFile\.(?:rm|cp|rename|ln|chmod|chown)\w*|\bKernel\b|\bNode\b|\b(?:apply|alias|import|require|defmacro|quote|unquote)\b"
        r"|:(?!ok\b|error\b|math\b|rand\b|timer\b|json\b|maps\b|lists\b|string\b|binary\b|crypto\b|calendar\b|queue\b|ets\b)[a-z]\w*\s*\.|\bString\.to_\w*atom\b|:\""
    ),
    "octave": re.compile(
        r"\b(?:system|shell_cmd|exec|popen2?|eval|evalc|evalin|feval|unix|dos|run|source|str2func|cellfun|arrayfun|urlread|urlwrite|webread"
        r"|fork|unlink|delete|rmdir|kill|getenv|setenv|putenv|mex|mkoctfile|autoload|addpath|inputname|assignin|builtin|func2str|python|perl)\b|!"
    ),
}
