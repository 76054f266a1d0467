"""Classify sequences of variable length by their first and last symbols (padded, packed, bidirectional LSTM)."""
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

random.seed(11)
torch.manual_seed(11)
VOCAB, CLASSES, PAD = 20, 4, 0


def make_example():
    n = random.randint(3, 15)
    tokens = [random.randint(1, VOCAB - 1) for _ in range(n)]
    return torch.tensor(tokens), (tokens[0] + tokens[-1]) % CLASSES


def collate(batch):
    batch = sorted(batch, key=lambda pair: len(pair[0]), reverse=True)
    seqs, labels = zip(*batch)
    lengths = torch.LongTensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True, padding_value=PAD), lengths, torch.LongTensor(labels)


class Classifier(nn.Module):
    def __init__(self, emb=16, hid=24):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.rnn = nn.LSTM(emb, hid, num_layers=2, bidirectional=True, batch_first=True, dropout=0.2)
        self.attn = nn.Linear(2 * hid, 1)
        self.out = nn.Linear(4 * hid, CLASSES)
        self.init_weights()

    def init_weights(self):
        for name, param in self.rnn.named_parameters():
            if "weight_hh" in name:
                nn.init.orthogonal_(param)
            elif "weight_ih" in name:
                nn.init.xavier_uniform_(param)
            elif "bias" in name:
                n = param.size(0)
                param.data.zero_()
                param.data[n // 4:n // 2].fill_(1.0)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embed(tokens), lengths, batch_first=True)
        output, (h, c) = self.rnn(packed)
        assert isinstance(output, PackedSequence)
        output, lens = pad_packed_sequence(output, batch_first=True)
        mask = torch.arange(output.size(1))[None, :] < lens[:, None]
        scores = self.attn(output).squeeze(-1).masked_fill(~mask, float("-inf"))
        context = torch.bmm(torch.softmax(scores, dim=1).unsqueeze(1), output).squeeze(1)
        last = torch.cat((h[-2], h[-1]), dim=1)
        return self.out(torch.cat([context, last], 1))


if __name__ == "__main__":
    data = [make_example() for _ in range(320)]
    loader = DataLoader(data, batch_size=32, shuffle=True, collate_fn=collate)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(2):
        for tokens, lengths, labels in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(tokens, lengths), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            print(f"loss {loss.item():.6f}")
